//! Generates the list of built-in schemes from the files in `schemes/`, so that a new scheme needs only a new file.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let package = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let folder = Path::new(&package).join("../../schemes");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build.rs");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let files = entries.map(|entry| entry.expect("a folder entry can be read").path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut files: Vec<(u32, PathBuf)> = files.map(|path| (order(&path), path)).collect();
    files.sort();
    let mut list = "&[\n".to_owned();
    for (_, path) in &files {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a scheme's name is ASCII");
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("schemes.rs");
    fs::write(&out, list).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

/// The position of a scheme among the others, from its key `order`. A scheme without the key comes last.
fn order(file: &Path) -> u32 {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let Some(value) = text.lines().find_map(|line| line.strip_prefix("order = ")) else { return u32::MAX };
    let number = value.split('#').next().unwrap_or(value).trim();
    number.parse().unwrap_or_else(|_| panic!("{}: order = {value}: expected a whole number", file.display()))
}
