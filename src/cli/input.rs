//! What comes in on stdin.

use std::io::{ErrorKind, IsTerminal, Read};

use crate::error::Error;

/// All of stdin.
///
/// # Errors
/// A terminal is wrong usage, not a wait for somebody who does not know that they are waited for (X3).
pub fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Err(Error::Usage(
            "stdin is a terminal, and the document is read from it: pipe it in, as in \
             `echo '{\"currentPhase\":4}' | pipestate write FILE`"
                .into(),
        ));
    }
    let mut text = Vec::new();
    loop {
        match stdin.read_to_end(&mut text) {
            Ok(_) => return Ok(text),
            // Whoever shares the pipe has made it non-blocking; what was read is kept.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(error) => return Err(Error::io("stdin".as_ref(), "read the document", "read", error)),
        }
    }
}
