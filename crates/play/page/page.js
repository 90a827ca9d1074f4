const at = (id) => document.getElementById(id);
const text = at("text");
const examples = JSON.parse(at("examples").textContent);

// The module, unpacked once; each worker compiles its own copy.
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

// A text is checked on a worker of its own, so that it can be edited while another runs.
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
text.oninput = look;
text.value = examples[0].text;
look();
