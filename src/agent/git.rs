//! git: arguments and no shell line, an environment of our own, a time limit.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::child;

/// How long one question to git may take.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Asks git a question in the folder `at`; its answer, or in words why there is none.
///
/// Whatever steers git in the environment (`GIT_DIR` of a hook that we are called from, `GIT_INDEX_FILE`) is left out,
/// optional locks are not taken, so that asking changes nothing, and no monitor named in the repository is started.
pub fn ask<A: AsRef<OsStr>>(at: &Path, arguments: impl IntoIterator<Item = A>) -> Result<Vec<u8>, String> {
    run(at, arguments, LIMIT)
}

/// The same for whatever may take up to `limit`, and for what is no question: no hook of the repository is run.
pub fn run<A: AsRef<OsStr>>(
    at: &Path,
    arguments: impl IntoIterator<Item = A>,
    limit: Duration,
) -> Result<Vec<u8>, String> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C"])
        .arg(at)
        .args(arguments);
    match child::run(&mut command, limit, &|| false) {
        Ok(finished) if finished.status.success() => Ok(finished.stdout),
        Ok(finished) => {
            let complaint = String::from_utf8_lossy(&finished.stderr);
            let mut lines = complaint.lines().filter(|line| !line.trim().is_empty());
            let first = lines.clone().next().unwrap_or("it said nothing");
            // Before what it refuses it may say what it does.
            let is_refusal =
                |line: &&str| ["fatal:", "error:", " ! "].iter().any(|word| line.starts_with(word));
            let first = lines.find(is_refusal).unwrap_or(first).trim();
            Err(format!("git says: {first}"))
        }
        Err(failure) => Err(format!("git: {failure}")),
    }
}

/// The answer as a path, without the line feed at its end.
pub fn path_in(answer: &[u8]) -> std::path::PathBuf {
    let bytes = answer.strip_suffix(b"\n").unwrap_or(answer);
    path_of(bytes)
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> std::path::PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
