//! Windows: process handles.
//!
//! There is no boot to tell: Windows gives no identity of a boot that every account can read and that no setting of
//! the clock moves. None is needed: kernel locks decide about pipestates, and an SMB server keeps those of all hosts.
//!
//! The start of a process is stamped by the system clock, as a lock is. Set back by more than the margin between a
//! process's start and its making of a lock, that clock makes the process look younger than its lock.

use std::ffi::OsString;
use std::io;
use std::mem::{size_of_val, zeroed};
use std::os::windows::ffi::OsStringExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null_mut;
use std::time::Duration;

use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, FILETIME, WAIT_OBJECT_0};
use windows_sys::Win32::System::Registry::{
    HKEY_LOCAL_MACHINE, RRF_RT_REG_SZ, RRF_SUBKEY_WOW6464KEY, RegGetValueW,
};
use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW, GetSystemTimePreciseAsFileTime,
};
use windows_sys::Win32::System::Threading::{
    GetProcessId, GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    WaitForSingleObject,
};
use windows_sys::w;

use super::{Own, State};

pub fn own() -> Own {
    Own {
        start: open(std::process::id()).ok().and_then(|process| start(&process)),
        boot: None,
        host: host_name().unwrap_or_default(),
        machine: machine_id().map(|id| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(id.as_bytes()))),
        pid_namespace: None,
    }
}

pub fn state(pid: u32) -> State {
    let process = match open(pid) {
        Ok(process) => process,
        // So it says that it knows no such process.
        Err(error) if error.raw_os_error() == Some(ERROR_INVALID_PARAMETER as i32) => return State::Gone,
        Err(_) => return State::Running { age: None, start: None },
    };
    // SAFETY: the handle is open.
    let (opened, waited) =
        unsafe { (GetProcessId(process.as_raw_handle()), WaitForSingleObject(process.as_raw_handle(), 0)) };
    // The lowest two bits of an id are ignored; and a process that has ended has an id while anybody has a handle.
    if opened != pid || waited == WAIT_OBJECT_0 {
        return State::Gone;
    }
    let start = start(&process);
    let age = start.map(|start| Duration::from_micros(now().saturating_sub(start) / TICKS_PER_MICROSECOND));
    State::Running { age, start }
}

/// Windows counts in units of 100 ns from 1601.
const TICKS_PER_MICROSECOND: u64 = 10;

fn open(pid: u32) -> io::Result<OwnedHandle> {
    // SAFETY: a handle that is returned is ours alone.
    unsafe {
        match OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE, 0, pid) {
            handle if handle.is_null() => Err(io::Error::last_os_error()),
            handle => Ok(OwnedHandle::from_raw_handle(handle)),
        }
    }
}

fn start(process: &OwnedHandle) -> Option<u64> {
    // SAFETY: the structures are plain data, and the call fills them.
    unsafe {
        let [mut start, mut end, mut kernel, mut user]: [FILETIME; 4] = zeroed();
        let handle = process.as_raw_handle();
        (GetProcessTimes(handle, &mut start, &mut end, &mut kernel, &mut user) != 0).then(|| ticks(start))
    }
}

fn now() -> u64 {
    // SAFETY: the structure is plain data, and the call fills it.
    unsafe {
        let mut now = zeroed();
        GetSystemTimePreciseAsFileTime(&mut now);
        ticks(now)
    }
}

fn ticks(time: FILETIME) -> u64 {
    u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime)
}

fn host_name() -> Option<String> {
    let mut name = [0u16; 256]; // a DNS label has 63 characters at most
    let mut length = name.len() as u32;
    // SAFETY: the buffer has the length that is told.
    let got =
        unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_mut_ptr(), &mut length) != 0 };
    got.then(|| OsString::from_wide(&name[..length as usize]).to_string_lossy().into_owned())
}

/// What Windows calls the machine's GUID, made when it was installed.
fn machine_id() -> Option<String> {
    let mut id = [0u16; 64]; // a GUID has 36 characters
    let mut size = size_of_val(&id) as u32;
    // SAFETY: the buffer has the size that is told, and both names end in a zero.
    let status = unsafe {
        RegGetValueW(
            HKEY_LOCAL_MACHINE,
            w!("SOFTWARE\\Microsoft\\Cryptography"),
            w!("MachineGuid"),
            RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY,
            null_mut(),
            id.as_mut_ptr().cast(),
            &mut size,
        )
    };
    let id = id.split(|&unit| unit == 0).next().unwrap_or_default();
    (status == 0 && !id.is_empty()).then(|| String::from_utf16_lossy(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_runs_and_started_before_now() {
        let State::Running { age: Some(age), start } = state(std::process::id()) else { panic!() };
        assert!(age < Duration::from_secs(3600), "{age:?}");
        assert_eq!(start, super::super::own().start);
    }

    #[test]
    fn this_machine_has_a_name_and_an_id() {
        let own = own();
        assert!(!own.host.is_empty());
        assert_eq!(own.machine.map(|id| id.len()), Some(16));
    }

    #[test]
    fn a_child_is_gone_once_it_has_ended_though_its_handle_is_open() {
        // It waits for commands.
        let mut child = Command::new("cmd").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let State::Running { age: Some(age), start: Some(_) } = state(child.id()) else { panic!() };
        assert!(age < Duration::from_secs(60), "{age:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(state(child.id()), State::Gone);
    }

    #[test]
    fn an_id_that_is_nobodys_is_gone() {
        assert_eq!(state(std::process::id() + 1), State::Gone, "the lowest two bits name no other process");
        assert_eq!(state(0x7fff_fff0), State::Gone);
    }
}
