//! `pipestate completions`.

use super::arguments::{Run, Value, arguments};
use super::output::Output;
use crate::error::Error;

arguments! {
    /// Print what completes this program's arguments in a shell
    #[examples = "\
Examples:
  pipestate completions bash > ~/.local/share/bash-completion/completions/pipestate
  pipestate completions zsh  > ~/.zfunc/_pipestate     with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  pipestate completions fish > ~/.config/fish/completions/pipestate.fish"]
    pub struct Completions {
        /// The shell
        shell: Shell = operand("SHELL"),
    }
}

#[derive(Clone, Copy)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Value for Shell {
    const WORDS: &'static [&'static str] = &["bash", "zsh", "fish"];

    fn read(word: &str) -> Result<Shell, String> {
        Ok(match word {
            "bash" => Shell::Bash,
            "zsh" => Shell::Zsh,
            _ => Shell::Fish,
        })
    }
}

impl Run for Completions {
    fn run(self, _: &str, output: &mut Output) -> Result<u8, Error> {
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
