//! Reading a file from its start: a large one into large pages, and by two threads, one from the front and one from the back.
//!
//! Not by mapping the file: a tool that cuts it meanwhile would end the process, in Node the host's, with SIGBUS.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use rustix::io::retry_on_intr;

/// From this size on a second thread is worth its start.
const LARGE: usize = 4 << 20;
/// How much a thread reads before it looks what is left.
const PIECE: usize = 1 << 20;

#[derive(PartialEq)]
enum Side {
    Front,
    Back,
}

/// Reads up to `most` bytes from the start of `file`.
pub fn read_at_start(file: &File, most: usize) -> io::Result<Vec<u8>> {
    read_at_start_until(file, most, most)
}

/// The same, but a read that ends short of `most` at `enough` bytes or behind them is taken for the end of the file.
pub fn read_at_start_until(file: &File, most: usize, enough: usize) -> io::Result<Vec<u8>> {
    let mut bytes = room(most);
    let end = AtomicUsize::new(most);
    let pieces = Mutex::new(bytes.spare_capacity_mut()[..most].chunks_mut(PIECE).enumerate());
    let read = |side: Side| -> io::Result<()> {
        loop {
            let mut left = pieces.lock().unwrap_or_else(PoisonError::into_inner);
            let piece = if side == Side::Front { left.next() } else { left.next_back() };
            drop(left);
            let Some((number, piece)) = piece else { return Ok(()) };
            let start = number * PIECE;
            let filled = fill(file, piece, start, enough)?;
            if filled < piece.len() {
                // Whatever is read from behind it does not count.
                end.fetch_min(start + filled, Ordering::Relaxed);
            }
        }
    };
    if most >= LARGE {
        let read = &read;
        thread::scope(|scope| {
            // Without a thread all is read from the front.
            let behind = Builder::new().spawn_scoped(scope, || read(Side::Back));
            read(Side::Front)?;
            behind.map_or(Ok(()), |behind| behind.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
    } else {
        read(Side::Front)?;
    }
    let end = end.into_inner();
    // SAFETY: every piece has been taken, all readers have ended, none with an error, and whoever could not fill a piece has
    // lowered `end` to where it stopped.
    unsafe { bytes.set_len(end) };
    Ok(bytes)
}

/// Reads what stands at `start` until `room` is full, or the file ends; returns how much that was.
fn fill(file: &File, room: &mut [MaybeUninit<u8>], start: usize, enough: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < room.len() {
        let read = retry_on_intr(|| {
            let (read, _) = rustix::io::pread(file, &mut room[filled..], (start + filled) as u64)?;
            Ok(read.len())
        })?;
        filled += read;
        if read == 0 || start + filled >= enough {
            break;
        }
    }
    Ok(filled)
}

/// Room to read into. Much of it is asked for in large pages: in small ones their first touch takes longer than the read.
fn room(size: usize) -> Vec<u8> {
    #[cfg_attr(not(target_os = "linux"), allow(unused_mut))]
    let mut bytes = Vec::with_capacity(size);
    #[cfg(target_os = "linux")]
    if size >= LARGE {
        use rustix::mm::{Advice, madvise};
        /// The largest that pages are anywhere; the system wants its advice to begin at one.
        const PAGE: usize = 64 << 10;
        let start: *mut u8 = bytes.as_mut_ptr();
        let start = start.wrapping_byte_add(start.align_offset(PAGE));
        // SAFETY: the pages lie in `bytes`, and what is in them stays. A refusal costs time and nothing else.
        let _ = unsafe { madvise(start.cast(), size - PAGE, Advice::LinuxHugepage) };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_size_is_read_whole_or_up_to_what_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let large = LARGE;
        for size in [0, 1, PIECE - 1, PIECE, large - 1, large, large + 1, large + PIECE + 7] {
            let text: Vec<u8> = (0..size).map(|at| ((at * 7919) >> 8) as u8).collect();
            let path = folder.path().join(size.to_string());
            #[allow(clippy::disallowed_methods)] // a test lays out its own folder
            std::fs::write(&path, &text).unwrap();
            let file = File::open(&path).unwrap();
            for (most, enough) in [(size + 1, size), (size + 3 * PIECE, size + 3 * PIECE), (size, size)] {
                assert!(read_at_start_until(&file, most, enough).unwrap() == text, "{size}, {most}");
            }
            // Cut since it was looked at, at any distance.
            for most in [2 * size + 1, size + large, size + 4 * large] {
                assert!(read_at_start_until(&file, most, most - 1).unwrap() == text, "{size}, {most}");
            }
            // Longer than expected.
            assert!(read_at_start(&file, size / 2).unwrap() == text[..size / 2], "half of {size}");
        }
    }
}
