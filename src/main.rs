//! The native program; everything it does is [`pipestate::cli`].

use std::process::ExitCode;

use pipestate::cli;

fn main() -> ExitCode {
    ExitCode::from(cli::run(&cli::PIPESTATE, "pipestate", std::env::args_os().skip(1), "pipestate"))
}
