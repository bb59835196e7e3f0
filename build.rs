//! Linker settings of the Node addon and of the program, and the completions as the program carries them.

use std::path::Path;

fn main() {
    // Else it would run again, and all be built again, whenever any file here changes: the typings do at every build.
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        // The program and the tests are built without them.
        napi_build::setup();
    } else if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        // The unwinder linked in: to find and load libgcc_s.so takes the program an eighth of its start. Node has it
        // loaded already.
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
    for name in ["pipestate.bash", "_pipestate", "pipestate.fish"] {
        pack(Path::new("completions"), name);
    }
}

/// Packs a text that is mostly repetitions: 78 kB of the program would be completions.
#[allow(clippy::disallowed_methods)] // it is Cargo's folder
fn pack(folder: &Path, name: &str) {
    let path = folder.join(name);
    println!("cargo::rerun-if-changed={}", path.display());
    let text = std::fs::read(&path).expect("the completions are in the repository");
    let out = std::env::var_os("OUT_DIR").expect("Cargo says where");
    let packed = lz4_flex::compress_prepend_size(&text);
    std::fs::write(Path::new(&out).join(format!("{name}.lz4")), packed).expect("Cargo's folder");
}
