//! Elsewhere the process ends as the system has it; a lock that it held is taken over by the next writer.

/// Nothing to install.
pub fn install() {}

/// Nothing is noted.
pub fn protect() {}

/// Nothing was noted.
pub fn expose() {}

/// No signals.
pub fn pending() -> Option<i32> {
    None
}
