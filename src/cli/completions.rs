//! `pipestate completions`.

use clap::{Args, ValueEnum};
use clap_complete::generate;
use clap_complete::shells::{Bash, Fish, Zsh};

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
        let mut command = super::command();
        let mut script = Vec::new();
        match self.shell {
            Shell::Bash => generate(Bash, &mut command, "pipestate", &mut script),
            Shell::Zsh => generate(Zsh, &mut command, "pipestate", &mut script),
            Shell::Fish => generate(Fish, &mut command, "pipestate", &mut script),
        }
        output.bytes(&[&script])?;
        Ok(0)
    }
}
