//! The native program; everything it does is [`pipestate::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pipestate::cli::run(std::env::args_os().skip(1), "pipestate"))
}
