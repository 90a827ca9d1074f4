//! The simulator in a web page: builds it for WebAssembly and puts the module, the editor and the examples into one
//! file.

use crate::{cargo, folder_of, step};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cargo_metadata::MetadataCommand;
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";

/// The profile in `Cargo.toml` of the page that is published.
pub const PROFILE: &str = "playground";

/// The scenarios that the page offers. The page shows the first one when it opens. Examples that take minutes or are
/// searches are left out.
const EXAMPLES: [&str; 5] = ["permutation-128", "link-failure", "lossy-link", "incast", "allreduce"];

fn example(root: &Path, name: &str) -> Result<serde_json::Value> {
    let [own, shipped] =
        ["crates/play/page", "examples"].map(|folder| root.join(folder).join(name).with_extension("toml"));
    let path = if own.exists() { own } else { shipped };
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    Ok(serde_json::json!({ "name": name, "text": text }))
}

/// Writes `target/playground.html` and returns its path. A `profile` other than [`PROFILE`] is built in less time, and
/// its page simulates more slowly.
pub fn build(root: &Path, profile: &str) -> Result<PathBuf> {
    let target: PathBuf = MetadataCommand::new().no_deps().current_dir(root).exec()?.target_directory.into();
    step(cargo(root).args([
        "build",
        "--package",
        "anabranch-play",
        "--profile",
        profile,
        "--target",
        TARGET,
    ]))?;
    let built = target.join(TARGET).join(folder_of(profile)).join("anabranch_play.wasm");
    let mut bound =
        Bindgen::new().input_path(&built).no_modules(true)?.typescript(false).generate_output()?;
    let packed = {
        let mut packing = GzEncoder::new(Vec::new(), Compression::best());
        packing.write_all(&bound.wasm_mut().emit_wasm())?;
        STANDARD.encode(packing.finish()?)
    };
    let read = |path: &str| fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
    let style = read("crates/report/src/page/style.css")? + &read("crates/play/page/page.css")?;
    let worker = bound.js().to_owned() + &read("crates/play/page/worker.js")?;
    let examples: Vec<_> = EXAMPLES.iter().map(|name| example(root, name)).collect::<Result<_>>()?;
    let examples = serde_json::to_string(&examples)?.replace("</", "<\\/");
    let mut page = read("crates/play/page/page.html")?;
    for (index, text) in [
        ("{{STYLE}}", &*style),
        ("{{EXAMPLES}}", &*examples),
        ("{{WORKER}}", &*worker),
        ("{{WASM}}", &*packed),
        ("{{SCRIPT}}", &*read("crates/play/page/page.js")?),
    ] {
        if text.contains("</script") || !page.contains(index) {
            bail!("{index} does not fit into the page");
        }
        page = page.replace(index, text);
    }
    let path = target.join("playground.html");
    fs::write(&path, page).with_context(|| path.display().to_string())?;
    Ok(path)
}
