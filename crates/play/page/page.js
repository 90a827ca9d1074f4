const at = (id) => document.getElementById(id);
const text = at("text");
const examples = JSON.parse(at("examples").textContent);

// The WebAssembly module is unpacked once, and each worker compiles its own copy.
const packed = Uint8Array.from(atob(at("wasm").textContent.trim()), (letter) => letter.charCodeAt(0));
const module = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
const source = URL.createObjectURL(new Blob([at("worker").textContent], { type: "text/javascript" }));

let number = 0;
function worker(heard) {
  const made = new Worker(source);
  made.onmessage = ({ data }) => heard(data);
  module.then((wasm) => made.postMessage({ wasm }));
  return made;
}

// A separate worker checks the text, so that the user can edit a text while another scenario runs.
let checks = worker(checked);
let latest = 0;
let timer;
function look() {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    await module;
    latest = number += 1;
    checks.postMessage({ number: latest, check: text.value });
  }, 250);
}

function line(kind, told) {
  const said = document.createElement("p");
  if (kind) said.className = kind;
  if (told.line) {
    const jump = document.createElement("button");
    jump.type = "button";
    jump.textContent = `line ${told.line}`;
    jump.onclick = () => show(told.line, told.column ?? 1);
    said.append(jump, " ");
  }
  said.append(told.message);
  if (told.help) {
    const help = document.createElement("code");
    help.textContent = told.help;
    said.append(document.createElement("br"), "Write: ", help);
  }
  return said;
}

function show(row, column) {
  const lines = text.value.split("\n");
  const from = lines.slice(0, row - 1).reduce((sum, one) => sum + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(from + column - 1, from + (lines[row - 1] ?? "").length);
  const height = parseFloat(getComputedStyle(text).lineHeight);
  text.scrollTop = Math.max(0, (row - 4) * height);
}

function checked(data) {
  if (data.failed !== undefined) {
    say([line("bad", { message: data.failed })], true);
    checks.terminate();
    checks = worker(checked);
    return;
  }
  if (data.completed) {
    if (data.number === asked) offer(data.completed);
    return;
  }
  if (data.number !== latest) return;
  const { error, warnings = [], runs, hosts, packets } = data.checked;
  if (error) {
    say([line("bad", error)], true);
    return;
  }
  const sizes = `${runs} runs on ${hosts} hosts, ${packets.toLocaleString("en")} data packets in all`;
  const long = packets > 5e6 ? ": this takes minutes here" : "";
  say([line("", { message: sizes + long }), ...warnings.map((one) => line("fair", one))], false);
}

function say(lines, wrong) {
  at("said").replaceChildren(...lines);
  text.classList.toggle("wrong", wrong);
  text.setAttribute("aria-invalid", wrong);
  at("run").disabled = wrong || running !== undefined;
}

// The list of keys and words for the position of the cursor. The text field keeps the focus while the list is open.
const keys = at("keys");
let asked;
let offered;
let chosen;
async function complete() {
  await module;
  asked = number += 1;
  const cursor = text.selectionEnd;
  checks.postMessage({ number: asked, complete: [text.value.slice(0, cursor), text.value.slice(cursor)] });
}

function offer({ replaced, list }) {
  offered = { replaced, list, cursor: text.selectionEnd };
  const options = list.map(({ name, meaning }, place) => {
    const option = document.createElement("div");
    option.id = `key-${place}`;
    option.setAttribute("role", "option");
    const code = document.createElement("code");
    const help = document.createElement("small");
    code.textContent = name;
    help.textContent = meaning;
    option.append(code, help);
    // The text field keeps the focus.
    option.onmousedown = (event) => event.preventDefault();
    option.onclick = () => accept(place);
    return option;
  });
  const none = document.createElement("div");
  none.textContent = "No key or word can be written here.";
  none.style.padding = "4px 12px";
  keys.replaceChildren(...(options.length ? options : [none]));
  keys.hidden = false;
  choose(0);
}

function choose(place) {
  chosen = place;
  [...keys.children].forEach((option, its) => {
    if (option.id) option.setAttribute("aria-selected", its === place);
  });
  const option = offered.list.length ? keys.children[place] : undefined;
  if (option) text.setAttribute("aria-activedescendant", option.id);
  else text.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function accept(place) {
  const { replaced, list, cursor } = offered;
  const written = list[place].text;
  // The text may already have the closing quote of the word.
  const closed = written.endsWith('"') && text.value[cursor] === '"' ? 1 : 0;
  text.focus();
  text.setRangeText(written, cursor - replaced, cursor + closed, "end");
  close();
  look();
}

function close() {
  asked = undefined;
  keys.hidden = true;
  text.removeAttribute("aria-activedescendant");
}

text.onkeydown = (event) => {
  if (event.key === " " && event.ctrlKey) {
    event.preventDefault();
    complete();
  } else if (!keys.hidden && event.key === "Escape") {
    close();
  } else if (!keys.hidden && offered.list.length) {
    const { length } = offered.list;
    const places = { ArrowDown: (chosen + 1) % length, ArrowUp: (chosen + length - 1) % length };
    if (event.key in places) choose(places[event.key]);
    else if (event.key === "Enter") accept(chosen);
    else return;
    event.preventDefault();
  }
};
text.onblur = close;
at("complete").onmousedown = (event) => event.preventDefault();
at("complete").onclick = () => {
  text.focus();
  complete();
};

let running;
let page;
function end(message) {
  running?.terminate();
  running = undefined;
  at("stop").hidden = true;
  at("run").disabled = text.classList.contains("wrong");
  at("progress").textContent = message;
}

at("run").onclick = () => {
  at("run").disabled = true;
  at("stop").hidden = false;
  at("progress").textContent = "starting";
  document.body.dataset.digests = "";
  running = worker((data) => {
    if (data.failed !== undefined) {
      say([line("bad", { message: data.failed })], true);
      end("");
    } else if (data.page !== undefined) {
      at("report").srcdoc = data.page;
      if (page) URL.revokeObjectURL(page);
      page = URL.createObjectURL(new Blob([data.page], { type: "text/html" }));
      at("save").href = page;
      document.querySelector("section.report").hidden = false;
      document.body.dataset.digests = data.digests.join(" ");
      document.body.dataset.seconds = data.seconds.toFixed(2);
      end(`${data.runs} runs in ${data.seconds.toFixed(1)} s`);
    } else {
      at("progress").textContent = `run ${data.done + 1} of ${data.runs}: ${data.name}`;
    }
  });
  const its = running;
  module.then(() => its.postMessage({ number: (number += 1), run: text.value }));
};
at("stop").onclick = () => end("stopped");

for (const { name } of examples) at("example").append(new Option(name, name));
at("example").onchange = () => {
  text.value = examples.find(({ name }) => name === at("example").value).text;
  text.scrollTop = 0;
  look();
};
text.oninput = () => {
  look();
  if (!keys.hidden) complete();
};
text.value = examples[0].text;
look();
