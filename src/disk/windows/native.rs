//! The calls themselves: everything unsafe about files, and nothing else.
//!
//! The native API is used where Win32 has no call relative to a folder, or none that says exactly what went wrong.

use std::ffi::{OsStr, OsString, c_void};
use std::fs::File;
use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::path::PathBuf;
use std::ptr::null;

use windows_sys::Wdk::Foundation::OBJECT_ATTRIBUTES;
use windows_sys::Wdk::Storage::FileSystem as nt;
use windows_sys::Wdk::System::SystemServices::{FILE_FS_DEVICE_INFORMATION, FILE_REMOTE_DEVICE};
use windows_sys::Win32::Foundation as win;
use windows_sys::Win32::Storage::FileSystem as fs;
use windows_sys::Win32::System::IO::{IO_STATUS_BLOCK, OVERLAPPED};

/// What a native call said instead of doing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub win::NTSTATUS);

impl Status {
    fn check(status: win::NTSTATUS) -> Result<(), Status> {
        if status >= 0 { Ok(()) } else { Err(Status(status)) }
    }

    /// Whether it says that this system or file system does not know the request, as opposed to having refused it.
    pub fn is_unknown_request(self) -> bool {
        matches!(
            self.0,
            win::STATUS_INVALID_INFO_CLASS
                | win::STATUS_INVALID_PARAMETER
                | win::STATUS_INVALID_DEVICE_REQUEST
                | win::STATUS_NOT_IMPLEMENTED
                | win::STATUS_NOT_SUPPORTED
        )
    }
}

impl From<Status> for io::Error {
    fn from(status: Status) -> io::Error {
        // SAFETY: takes and returns plain numbers.
        io::Error::from_raw_os_error(unsafe { win::RtlNtStatusToDosError(status.0) } as i32)
    }
}

/// A file by name in an open folder, and how to open it.
pub struct Opening<'a> {
    pub folder: &'a File,
    pub name: &'a OsStr,
    /// `FILE_GENERIC_READ` and its like.
    pub access: u32,
    /// `FILE_OPEN` or `FILE_CREATE`.
    pub disposition: u32,
    /// `FILE_OPEN_REPARSE_POINT` and its like.
    pub options: u32,
}

/// Opens or creates a file, in a way that lets others read, write, rename and remove it meanwhile.
pub fn open(opening: &Opening) -> Result<File, Status> {
    let mut name = plain_name(opening.name)?;
    let bytes = name_bytes(&name)?;
    let name = win::UNICODE_STRING { Length: bytes, MaximumLength: bytes, Buffer: name.as_mut_ptr() };
    let attributes = OBJECT_ATTRIBUTES {
        Length: size_of::<OBJECT_ATTRIBUTES>() as u32,
        RootDirectory: opening.folder.as_raw_handle(),
        ObjectName: &name,
        Attributes: win::OBJ_CASE_INSENSITIVE,
        SecurityDescriptor: null(),
        SecurityQualityOfService: null(),
    };
    let mut handle = win::INVALID_HANDLE_VALUE;
    // SAFETY: all pointers lead to live values of this function; a handle that is returned is ours alone.
    unsafe {
        let mut block: IO_STATUS_BLOCK = zeroed();
        Status::check(nt::NtCreateFile(
            &mut handle,
            opening.access | fs::SYNCHRONIZE,
            &attributes,
            &mut block,
            null(),
            fs::FILE_ATTRIBUTE_NORMAL,
            fs::FILE_SHARE_READ | fs::FILE_SHARE_WRITE | fs::FILE_SHARE_DELETE,
            opening.disposition,
            opening.options | nt::FILE_SYNCHRONOUS_IO_NONALERT,
            null(),
            0,
        ))?;
        Ok(File::from_raw_handle(handle))
    }
}

/// A name as the system takes it; one that would lead out of the folder, or into another stream of a file, is none.
fn plain_name(name: &OsStr) -> Result<Vec<u16>, Status> {
    let name: Vec<u16> = name.encode_wide().collect();
    let leads_elsewhere = |unit: &u16| [b'\\', b'/', b':'].map(u16::from).contains(unit);
    if name.is_empty() || name.iter().any(leads_elsewhere) {
        return Err(Status(win::STATUS_OBJECT_NAME_INVALID));
    }
    Ok(name)
}

fn name_bytes(name: &[u16]) -> Result<u16, Status> {
    u16::try_from(size_of_val(name)).map_err(|_| Status(win::STATUS_NAME_TOO_LONG))
}

/// How a file comes by a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As a second name; the new one must not exist.
    Link,
    /// Instead of the old one; the new one must not exist.
    Rename,
    /// Instead of the old one and of the file that has the new one, unless somebody has that open.
    Replace,
    /// Instead of the old one and of the file that has the new one; whoever has that open keeps it, nameless.
    ReplaceOpen,
}

/// Gives `file` the name `name` in `folder`.
pub fn give_name(file: &File, folder: &File, name: &OsStr, naming: Naming) -> Result<(), Status> {
    // The structure for links has the same layout; flags and the boolean that they extend lie in one place.
    const NAME_OFFSET: usize = offset_of!(nt::FILE_RENAME_INFORMATION, FileName);
    let (class, flags) = match naming {
        Naming::Link => (nt::FileLinkInformation, 0),
        Naming::Rename => (nt::FileRenameInformation, 0),
        Naming::Replace => (nt::FileRenameInformation, 1),
        Naming::ReplaceOpen => {
            (nt::FileRenameInformationEx, nt::FILE_RENAME_REPLACE_IF_EXISTS | nt::FILE_RENAME_POSIX_SEMANTICS)
        }
    };
    let name = plain_name(name)?;
    let bytes = name_bytes(&name)? as usize;
    let size = (NAME_OFFSET + bytes).max(size_of::<nt::FILE_RENAME_INFORMATION>());
    let mut buffer = vec![0u64; size.div_ceil(size_of::<u64>())];
    let request = buffer.as_mut_ptr().cast::<nt::FILE_RENAME_INFORMATION>();
    // SAFETY: the buffer is aligned like the structure and has room for it and for the name at its end.
    unsafe {
        (*request).Anonymous.Flags = flags;
        (*request).RootDirectory = folder.as_raw_handle();
        (*request).FileNameLength = bytes as u32;
        request
            .cast::<u8>()
            .add(NAME_OFFSET)
            .cast::<u16>()
            .copy_from_nonoverlapping(name.as_ptr(), name.len());
        set_information(file, class, request.cast(), size)
    }
}

/// Takes the name by which `file` was opened away at once; whoever has it open keeps it, nameless.
pub fn remove_name(file: &File) -> Result<(), Status> {
    let request = nt::FILE_DISPOSITION_INFORMATION_EX {
        Flags: nt::FILE_DISPOSITION_DELETE
            | nt::FILE_DISPOSITION_POSIX_SEMANTICS
            | nt::FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE,
    };
    // SAFETY: the structure belongs to the class.
    unsafe {
        set_information(
            file,
            nt::FileDispositionInformationEx,
            (&raw const request).cast(),
            size_of_val(&request),
        )
    }
}

/// Takes the name by which `file` was opened away once everybody has closed it.
pub fn remove_name_when_closed(file: &File) -> Result<(), Status> {
    let request = nt::FILE_DISPOSITION_INFORMATION { DeleteFile: true };
    // SAFETY: the structure belongs to the class.
    unsafe {
        set_information(
            file,
            nt::FileDispositionInformation,
            (&raw const request).cast(),
            size_of_val(&request),
        )
    }
}

/// # Safety
/// `request` must lead to `size` bytes of the structure that `class` asks for.
unsafe fn set_information(
    file: &File,
    class: i32,
    request: *const c_void,
    size: usize,
) -> Result<(), Status> {
    // SAFETY: by the caller; the handle is open.
    unsafe {
        let mut block: IO_STATUS_BLOCK = zeroed();
        let handle = file.as_raw_handle();
        Status::check(nt::NtSetInformationFile(handle, &mut block, request, size as u32, class))
    }
}

/// Attributes, times, size and links.
pub fn information(file: &File) -> io::Result<fs::BY_HANDLE_FILE_INFORMATION> {
    // SAFETY: the structure is plain data, and the call fills it.
    unsafe {
        let mut information = zeroed();
        match fs::GetFileInformationByHandle(file.as_raw_handle(), &mut information) {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(information),
        }
    }
}

/// What kind of reparse point it is, when its attributes say that it is one.
pub fn reparse_tag(file: &File) -> io::Result<u32> {
    // SAFETY: the structure belongs to the class.
    unsafe {
        query::<fs::FILE_ATTRIBUTE_TAG_INFO>(file, fs::FileAttributeTagInfo).map(|info| info.ReparseTag)
    }
}

/// Whether the name by which it was opened has been taken away.
pub fn is_delete_pending(file: &File) -> io::Result<bool> {
    // SAFETY: the structure belongs to the class.
    unsafe { query::<fs::FILE_STANDARD_INFO>(file, fs::FileStandardInfo).map(|info| info.DeletePending) }
}

/// The 128-bit number of the file in its volume, where the file system has such numbers.
pub fn wide_id(file: &File) -> io::Result<u128> {
    // SAFETY: the structure belongs to the class.
    unsafe {
        query::<fs::FILE_ID_INFO>(file, fs::FileIdInfo)
            .map(|info| u128::from_le_bytes(info.FileId.Identifier))
    }
}

/// The network protocol by which the file is reached.
pub fn remote_protocol(file: &File) -> io::Result<u32> {
    // SAFETY: the structure belongs to the class.
    unsafe {
        query::<fs::FILE_REMOTE_PROTOCOL_INFO>(file, fs::FileRemoteProtocolInfo).map(|info| info.Protocol)
    }
}

/// # Safety
/// `T` must be the plain structure that `class` fills.
unsafe fn query<T>(file: &File, class: i32) -> io::Result<T> {
    // SAFETY: by the caller.
    unsafe {
        let mut information: T = zeroed();
        let to = (&raw mut information).cast();
        match fs::GetFileInformationByHandleEx(file.as_raw_handle(), class, to, size_of::<T>() as u32) {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(information),
        }
    }
}

/// Whether it lies on another machine.
pub fn is_remote(file: &File) -> Result<bool, Status> {
    // SAFETY: the structure belongs to the class.
    unsafe {
        let mut block: IO_STATUS_BLOCK = zeroed();
        let mut device: FILE_FS_DEVICE_INFORMATION = zeroed();
        Status::check(nt::NtQueryVolumeInformationFile(
            file.as_raw_handle(),
            &mut block,
            (&raw mut device).cast(),
            size_of_val(&device) as u32,
            nt::FileFsDeviceInformation,
        ))?;
        Ok(device.Characteristics & FILE_REMOTE_DEVICE != 0)
    }
}

/// Whether it is a file of a file system, and no pipe and no device.
pub fn is_on_disk(file: &File) -> bool {
    // SAFETY: the handle is open.
    unsafe { fs::GetFileType(file.as_raw_handle()) == fs::FILE_TYPE_DISK }
}

/// The whole path of an open file, without links and short names, in the spelling that people know: without `\\?\`
/// unless it is too long for them. `None` when its volume has no letter.
pub fn final_path(file: &File) -> Option<PathBuf> {
    let mut path = vec![0u16; win::MAX_PATH as usize];
    loop {
        // SAFETY: the buffer has the length that is told.
        let length = unsafe {
            let room = path.len() as u32;
            fs::GetFinalPathNameByHandleW(
                file.as_raw_handle(),
                path.as_mut_ptr(),
                room,
                fs::FILE_NAME_NORMALIZED,
            )
        } as usize;
        match length {
            0 => return None,
            // Then it is the room that is needed.
            length if length > path.len() => path.resize(length, 0),
            length => {
                path.truncate(length);
                return Some(PathBuf::from(familiar(OsString::from_wide(&path))));
            }
        }
    }
}

fn familiar(path: OsString) -> OsString {
    match path.to_str() {
        Some(text) if text.len() >= win::MAX_PATH as usize => path,
        Some(text) => match text.strip_prefix(r"\\?\") {
            Some(share) if share.starts_with(r"UNC\") => format!(r"\\{}", &share[4..]).into(),
            Some(rest) if rest.as_bytes().get(1) == Some(&b':') => rest.into(),
            _ => path,
        },
        None => path,
    }
}

/// A range of bytes, whether or not the file has them.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub start: u64,
    pub length: u64,
}

impl Range {
    fn overlapped(self) -> OVERLAPPED {
        // SAFETY: the structure is plain data.
        let mut overlapped: OVERLAPPED = unsafe { zeroed() };
        overlapped.Anonymous.Anonymous.Offset = self.start as u32;
        overlapped.Anonymous.Anonymous.OffsetHigh = (self.start >> 32) as u32;
        overlapped
    }
}

/// Locks a range for this handle, without waiting: against everybody, or only against those who would lock it so.
pub fn lock(file: &File, range: Range, exclusive: bool) -> io::Result<()> {
    let exclusive = if exclusive { fs::LOCKFILE_EXCLUSIVE_LOCK } else { 0 };
    let flags = exclusive | fs::LOCKFILE_FAIL_IMMEDIATELY;
    let (low, high) = (range.length as u32, (range.length >> 32) as u32);
    // SAFETY: the handle is open and not for overlapped use, so nothing is written after the return.
    match unsafe { fs::LockFileEx(file.as_raw_handle(), flags, 0, low, high, &mut range.overlapped()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Unlocks a range that this handle has locked.
pub fn unlock(file: &File, range: Range) -> io::Result<()> {
    let (low, high) = (range.length as u32, (range.length >> 32) as u32);
    // SAFETY: as above.
    match unsafe { fs::UnlockFileEx(file.as_raw_handle(), 0, low, high, &mut range.overlapped()) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_its_folder() {
        for name in ["", "..\\a", "a/b", "a:stream", "C:"] {
            assert_eq!(plain_name(name.as_ref()), Err(Status(win::STATUS_OBJECT_NAME_INVALID)), "{name:?}");
        }
        assert!(plain_name("状態 émoji😀 .json".as_ref()).is_ok());
    }

    #[test]
    fn paths_are_spelled_as_people_know_them() {
        let long = format!(r"\\?\C:\{}", "a".repeat(300));
        for (path, expected) in [
            (r"\\?\C:\a\b.json", r"C:\a\b.json"),
            (r"\\?\UNC\server\share\a", r"\\server\share\a"),
            (r"\\?\Volume{1}\a", r"\\?\Volume{1}\a"),
            (&long, &long),
        ] {
            assert_eq!(familiar(path.into()), expected);
        }
    }
}
