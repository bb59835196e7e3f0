//! `pipestate completions`.

use clap::{Args, ValueEnum};

use super::output::Output;
use crate::error::Error;

/// Print what completes this program's arguments in a shell
#[derive(Args)]
#[command(help_template = super::HELP)]
#[command(before_help = "\
Examples:
  pipestate completions bash > ~/.local/share/bash-completion/completions/pipestate
  pipestate completions zsh  > ~/.zfunc/_pipestate     with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  pipestate completions fish > ~/.config/fish/completions/pipestate.fish")]
pub struct Completions {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Completions {
    pub fn run(self, output: &mut Output) -> Result<u8, Error> {
        // Printed from the argument parser by a test (tests/generated.rs); what would print them here is larger than they are.
        let script = match self.shell {
            Shell::Bash => include_str!("../../completions/pipestate.bash"),
            Shell::Zsh => include_str!("../../completions/_pipestate"),
            Shell::Fish => include_str!("../../completions/pipestate.fish"),
        };
        output.bytes(&[script.as_bytes()])?;
        Ok(0)
    }
}
