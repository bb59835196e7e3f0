//! The physical floor of a locked, atomic write: the system calls that pipestate's protocol needs, in its order, on the
//! same folder, and nothing else: no JSON, no merge, no checks. Errors end the program.
//!
//!     floor write [--sync] [--bare] FILE             one write; what a process costs that starts and does only this
//!     floor loop  [--sync] [--bare] COUNT FILE       COUNT writes in a loop; prints microseconds per write
//!     floor many  [--sync] THREADS FILES FOLDER      a write of each of FILES files by THREADS threads; prints seconds
//!     floor time  COUNT STDIN COMMAND ARGUMENT…      starts COMMAND COUNT times, one after another; prints what each took
//!
//! `--bare` is the barest writer that excludes others at all: a lock created exclusively, read, write, rename, unlink.
//! It cannot tell a dead holder from a living one, nor its own lock from another's.

mod calls;
mod spawn;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use calls::{Place, Protocol};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (flags, rest): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|argument| ["--sync", "--bare"].contains(argument));
    let protocol = Protocol { sync: flags.contains(&"--sync"), bare: flags.contains(&"--bare") };
    match rest[..] {
        ["write", file] => {
            calls::read_stdin();
            Place::open(file).write(protocol);
        }
        ["loop", count, file] => {
            let place = Place::open(file);
            let count: usize = number(count);
            let rounds = (0..count + count / 10).map(|_| {
                let since = Instant::now();
                place.write(protocol);
                since.elapsed().as_secs_f64()
            });
            // The first tenth warms up.
            let seconds: f64 = rounds.skip(count / 10).sum();
            println!("{}", seconds * 1e6 / count as f64);
        }
        ["many", threads, files, folder] => {
            println!("{}", many(protocol, number(threads), number(files), folder))
        }
        ["time", count, stdin, ref command @ ..] if !command.is_empty() => {
            spawn::time(number(count), stdin, command);
        }
        _ => panic!("usage: see the head of src/main.rs"),
    }
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

/// Seconds for a write of each of `files` files.
fn many(protocol: Protocol, threads: usize, files: usize, folder: &str) -> f64 {
    let next = AtomicUsize::new(0);
    let since = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let file = next.fetch_add(1, Ordering::Relaxed);
                    if file >= files {
                        return;
                    }
                    Place::open(&format!("{folder}/{file}.json")).write(protocol);
                }
            });
        }
    });
    since.elapsed().as_secs_f64()
}
