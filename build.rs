//! Linker settings of the Node addon.

fn main() {
    // Linker settings of a Node addon; the program and the tests are built without them.
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        napi_build::setup();
    }
}
