//! Linux: kernel locks of open file descriptions on bytes of the folder. For reading, as nobody can open a folder for writing; a
//! lock for writing is only asked about.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::place::Place;

/// One who waits, by the byte that they have locked; `None` where that was refused.
#[derive(Debug)]
pub struct Mark<'a> {
    place: &'a Place,
    byte: Option<i64>,
}

/// The time takes so many bits of a byte's place, in microseconds: a hundred days, which begin again.
const TIME_BITS: u32 = 43;
/// What the lock is called takes the others, but for the sign. Two locks of one folder that share them wait for each other's
/// turns.
const NAME_BITS: u32 = 20;

impl<'a> Mark<'a> {
    pub fn set(place: &'a Place, waited: Duration) -> Mark<'a> {
        let now = clock_gettime(ClockId::Monotonic);
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32).saturating_sub(waited);
        let time = now.as_micros() as i64 & ((1 << TIME_BITS) - 1);
        let byte = first_byte(place) + time;
        let set = lock(place, libc::F_OFD_SETLK, libc::F_RDLCK, byte, 1);
        Mark { place, byte: set.map(|_| byte) }
    }

    pub fn is_first(&self) -> Option<bool> {
        let first = first_byte(self.place);
        match self.byte? - first {
            0 => Some(true),
            before => is_free(self.place, first, before),
        }
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        if let Some(byte) = self.byte {
            lock(self.place, libc::F_OFD_SETLK, libc::F_UNLCK, byte, 1);
        }
    }
}

pub fn is_anybody_waiting(place: &Place) -> bool {
    is_free(place, first_byte(place), 1 << TIME_BITS) == Some(false)
}

fn first_byte(place: &Place) -> i64 {
    let name = xxhash_rust::xxh3::xxh3_64(place.lock_name.as_encoded_bytes()) >> (u64::BITS - NAME_BITS);
    (name as i64) << TIME_BITS
}

/// Whether nobody else has locked any of these bytes.
fn is_free(place: &Place, byte: i64, length: i64) -> Option<bool> {
    let found = lock(place, libc::F_OFD_GETLK, libc::F_WRLCK, byte, length)?;
    Some(i32::from(found) == libc::F_UNLCK)
}

/// Asks the kernel about a lock, and returns the kind of lock that it tells of; `None` is a refusal.
fn lock(place: &Place, command: i32, kind: i32, byte: i64, length: i64) -> Option<i16> {
    // SAFETY: a flock is plain numbers, and of an open file description `l_pid` has to be 0.
    let mut lock: libc::flock64 = unsafe { std::mem::zeroed() };
    lock.l_type = kind as i16;
    lock.l_whence = libc::SEEK_SET as i16;
    lock.l_start = byte;
    lock.l_len = length;
    // SAFETY: the folder is open, and the kernel reads and writes this one structure.
    let result = unsafe { libc::fcntl(place.folder.as_fd().as_raw_fd(), command, &mut lock) };
    (result == 0).then_some(lock.l_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Missing;

    /// Another's view of the state file `name`: a folder of its own, as another process has it.
    fn place(folder: &tempfile::TempDir, name: &str) -> Place {
        Place::find(&folder.path().join(name), Missing::Fail).unwrap()
    }

    #[test]
    fn who_has_waited_longest_is_first_until_they_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let places = [place(&folder, "a.json"), place(&folder, "a.json"), place(&folder, "a.json")];
        assert!(!is_anybody_waiting(&places[0]));
        let young = Mark::set(&places[0], Duration::from_millis(1));
        assert!(!is_anybody_waiting(&places[0]), "nobody waits for themselves");
        assert_eq!(young.is_first(), Some(true));
        let old = Mark::set(&places[1], Duration::from_millis(5));
        assert!(is_anybody_waiting(&places[2]));
        assert_eq!((young.is_first(), old.is_first()), (Some(false), Some(true)));
        drop(old);
        assert_eq!(young.is_first(), Some(true));
        drop(young);
        assert!(!is_anybody_waiting(&places[2]));
    }

    #[test]
    fn other_locks_of_the_folder_have_turns_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (place(&folder, "a.json"), place(&folder, "b.json"));
        let _mark = Mark::set(&one, Duration::from_secs(1));
        assert!(!is_anybody_waiting(&other));
        assert_eq!(Mark::set(&other, Duration::ZERO).is_first(), Some(true));
    }
}
