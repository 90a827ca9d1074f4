//! Makes cargo build the command again when a figure changes: figures are part of the binary.

fn main() {
    println!("cargo::rerun-if-changed=../../figures");
}
