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
        // Drawn from the tables of arguments by a test (tests/generated.rs), as what would draw them here is larger than
        // they are, and packed by build.rs.
        let packed: &[u8] = match self.shell {
            Shell::Bash => include_bytes!(concat!(env!("OUT_DIR"), "/pipestate.bash.lz4")),
            Shell::Zsh => include_bytes!(concat!(env!("OUT_DIR"), "/_pipestate.lz4")),
            Shell::Fish => include_bytes!(concat!(env!("OUT_DIR"), "/pipestate.fish.lz4")),
        };
        let script =
            lz4_flex::decompress_size_prepended(packed).map_err(|error| Error::Bug(error.to_string()))?;
        output.bytes(&[&script])?;
        Ok(0)
    }
}
