// Carries out the runs of a scenario one after the other, in a worker, so that the page stays responsive.
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
    // An error in the scenario is thrown as text. Any other error is a defect, after which the module must not be used again.
    const text = typeof error === "string" ? error : `internal error, a defect of anabranch: ${error}`;
    postMessage({ number: data.number, failed: text, broken: typeof error !== "string" });
  }
};
