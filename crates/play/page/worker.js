// Carries out the runs of a scenario, one after the other, away from the page's own thread.
let ready;
onmessage = async ({ data }) => {
  if (data.wasm) {
    ready = wasm_bindgen({ module_or_path: data.wasm });
    return;
  }
  try {
    await ready;
    if (data.check !== undefined) {
      postMessage({ number: data.number, checked: JSON.parse(wasm_bindgen.check(data.check)) });
      return;
    }
    if (data.complete) {
      const [before, after] = data.complete;
      postMessage({ number: data.number, completed: JSON.parse(wasm_bindgen.complete(before, after)) });
      return;
    }
    const session = new wasm_bindgen.Runs(data.run);
    const runs = session.runs();
    const begin = performance.now();
    for (let done = 0; done < runs; done += 1) {
      postMessage({ number: data.number, runs, done, name: session.next() });
      const from = performance.now();
      session.simulate();
      session.took((performance.now() - from) / 1000);
    }
    const seconds = (performance.now() - begin) / 1000;
    postMessage({ number: data.number, runs, page: session.page(), digests: session.digests(), seconds });
    session.free();
  } catch (error) {
    // A wrong scenario is a text; anything else is a defect, after which the module is not to be trusted.
    const text = typeof error === "string" ? error : `internal error, a defect of anabranch: ${error}`;
    postMessage({ number: data.number, failed: text, broken: typeof error !== "string" });
  }
};
