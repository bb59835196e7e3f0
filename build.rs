//! Linker settings of the Node addon.

fn main() {
    // Else it would run again, and all be built again, whenever any file here changes: the typings do at every build.
    println!("cargo::rerun-if-changed=build.rs");
    // Linker settings of a Node addon; the program and the tests are built without them.
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        napi_build::setup();
    }
}
