//! SIGINT, SIGTERM and SIGHUP (L10): while a lock is wanted or held they are noted, so that the lock is released
//! first; at any other time they end the process at once. Either way the exit code is 128 + n. SIGXFSZ ends nothing.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static PROTECTED: AtomicBool = AtomicBool::new(false);
static PENDING: AtomicI32 = AtomicI32::new(0);

/// Handles the signals from now on, but for those that the parent has us ignore (`nohup`).
pub fn install() {
    // Without SA_RESTART: a wait for the lock ends at once.
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP].into_iter().for_each(|signal| handle(signal, on_signal));
    handle(libc::SIGXFSZ, on_size_limit);
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: both structures are plain data; the handlers call only what is safe in one.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old);
        if old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler as usize;
        libc::sigaction(signal, &new, std::ptr::null_mut());
    }
}

/// A stdout that is a file at its size limit (`ulimit -f`): the write that comes to it fails, and that is all. Handled
/// rather than ignored, because programs that we start would inherit the latter.
extern "C" fn on_size_limit(_signal: libc::c_int) {}

extern "C" fn on_signal(signal: libc::c_int) {
    if PROTECTED.load(Ordering::SeqCst) {
        PENDING.store(signal, Ordering::SeqCst);
    } else {
        // SAFETY: _exit is async-signal-safe, and nothing is held that would have to be given back.
        unsafe { libc::_exit(128 + signal) }
    }
}

/// From now on signals are noted instead of ending the process: a lock may be held.
pub fn protect() {
    PROTECTED.store(true, Ordering::SeqCst);
}

/// From now on signals end the process again: no lock is held.
pub fn expose() {
    PROTECTED.store(false, Ordering::SeqCst);
}

/// The signal that came since, if one did.
pub fn pending() -> Option<i32> {
    Some(PENDING.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}
