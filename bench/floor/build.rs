//! The unwinder linked in, as the program has it: else the floor would take longer to start than what stands on it.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu") {
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
