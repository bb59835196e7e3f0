//! Starts programs from a small process, so that what is measured is them and not the one that starts them.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Starts `command` `count` times with the file `stdin` for input, `{}` in its name being the number of the start; prints,
/// as JSON, the milliseconds that each took and the most memory, in KiB, that any of them had.
pub fn time(count: usize, stdin: &str, command: &[&str]) {
    let mut took = Vec::with_capacity(count);
    for number in 0..count {
        let stdin = File::open(stdin.replace("{}", &number.to_string())).expect("the input");
        let since = Instant::now();
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .stdin(stdin)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", command[0]));
        let status = child.wait().expect("a child of ours");
        took.push(since.elapsed().as_secs_f64() * 1e3);
        assert!(status.success(), "{command:?}: {status}");
    }
    // SAFETY: a rusage is plain numbers, and the call fills it.
    let most = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage.ru_maxrss
    };
    println!("{{\"ms\":{took:?},\"mostKiB\":{most}}}");
}
