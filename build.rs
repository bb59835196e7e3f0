//! Linker settings of the Node addon and of the program.

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
}
