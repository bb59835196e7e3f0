//! SIGINT, SIGTERM and SIGHUP (L10): while a lock is wanted or held they are noted, so that the lock is released
//! first; at any other time they end the process at once. Either way the exit code is 128 + n.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static PROTECTED: AtomicBool = AtomicBool::new(false);
static PENDING: AtomicI32 = AtomicI32::new(0);

/// Handles the signals from now on, but for those that the parent has us ignore (`nohup`).
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: both structures are plain data; the handler calls only what is safe in one.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut old);
            if old.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int) = on_signal;
            new.sa_sigaction = handler as usize;
            // Without SA_RESTART: a wait for the lock ends at once.
            libc::sigaction(signal, &new, std::ptr::null_mut());
        }
    }
}

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

/// The signal that came since, if one did.
pub fn pending() -> Option<i32> {
    Some(PENDING.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}
