//! A run as the steps that it asked the disk to make, taken from a trace.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use super::disk::{Disk, NodeId, Step};
use crate::strace::Call;

/// Options with which strace prints everything that is written, byte for byte.
pub const STRACE_OPTIONS: [&str; 3] = ["-xx", "-s", "100000000"];

/// Follows a run, whose working folder was the root of `disk`, and adds its steps to `steps`, making them on `disk`.
///
/// # Panics
/// On a call that changes a disk in a way that the model does not know.
pub fn record(calls: &[Call], disk: &mut Disk, steps: &mut Vec<Step>) {
    let mut recorder = Recorder { disk, steps, open: HashMap::new() };
    calls.iter().filter(|call| call.succeeded()).for_each(|call| recorder.follow(call));
}

/// Calls that change a disk, or what a descriptor stands for, and that the program does not make.
const NOT_MODELLED: [&str; 23] = [
    "chmod",
    "copy_file_range",
    "creat",
    "dup",
    "dup2",
    "dup3",
    "fallocate",
    "fchmodat",
    "link",
    "mknod",
    "mknodat",
    "pwritev",
    "pwritev2",
    "rename",
    "renameat2",
    "rmdir",
    "sendfile",
    "symlink",
    "symlinkat",
    "sync",
    "syncfs",
    "truncate",
    "unlink",
];

struct Recorder<'a> {
    disk: &'a mut Disk,
    steps: &'a mut Vec<Step>,
    /// What the descriptors stand for, of those that the disk of the model has.
    open: HashMap<i64, NodeId>,
}

impl Recorder<'_> {
    fn follow(&mut self, call: &Call) {
        match call.name.as_str() {
            "open" => self.open(call, None, 0),
            "openat" | "openat2" => self.open(call, Some(0), 1),
            "close" => drop(self.open.remove(&descriptor(call, 0))),
            "mkdir" => self.make_folder(None, path(call, 0)),
            "mkdirat" => self.make_folder(Some(descriptor(call, 0)), path(call, 1)),
            "write" | "writev" | "pwrite64" => self.write(call),
            "ftruncate" => {
                let size = call.arguments[1].parse().expect("a size");
                self.change(call, |node| Step::Truncate { node, size });
            }
            "fchmod" => {
                let mode = octal(&call.arguments[1]);
                self.change(call, |node| Step::SetMode { node, mode });
            }
            "fsync" | "fdatasync" => self.change(call, |node| Step::Sync { node }),
            "linkat" => {
                let node = match path(call, 1).strip_prefix("/proc/self/fd") {
                    Ok(number) => self.open[&number.to_str().unwrap().parse::<i64>().unwrap()],
                    Err(_) if path(call, 1).as_os_str().is_empty() => self.open[&descriptor(call, 0)],
                    Err(_) => self.find(Some(descriptor(call, 0)), &path(call, 1)).expect("it was linked"),
                };
                let (folder, name) = self.split(Some(descriptor(call, 2)), &path(call, 3));
                self.make(Step::Link { node, folder, name });
            }
            "renameat" => {
                let (from_folder, from) = self.split(Some(descriptor(call, 0)), &path(call, 1));
                let (folder, name) = self.split(Some(descriptor(call, 2)), &path(call, 3));
                assert_eq!(from_folder, folder, "renames stay in their folder: {call}");
                self.make(Step::Rename { folder, from, name });
            }
            "unlinkat" => {
                let (folder, name) = self.split(Some(descriptor(call, 0)), &path(call, 1));
                self.make(Step::Unlink { folder, name });
            }
            "fcntl" if call.arguments[1].starts_with("F_DUPFD") => panic!("not in the model: {call}"),
            name => assert!(!NOT_MODELLED.contains(&name), "not in the model: {call}"),
        }
    }

    fn make(&mut self, step: Step) {
        self.disk.make(&step);
        self.steps.push(step);
    }

    fn open(&mut self, call: &Call, folder: Option<usize>, at: usize) {
        let folder = folder.map(|index| descriptor(call, index));
        let (path, flags) = (path(call, at), &call.arguments[at + 1]);
        let mode = || octal(call.arguments.last().unwrap()) & !super::UMASK;
        let node = if flags.contains("O_TMPFILE") {
            let node = self.disk.next();
            self.make(Step::Create { node, mode: mode() });
            Some(node)
        } else if flags.contains("O_CREAT") {
            assert!(flags.contains("O_EXCL"), "only new files are created: {call}");
            let node = self.disk.next();
            let (folder, name) = self.split(folder, &path);
            self.make(Step::Create { node, mode: mode() });
            self.make(Step::Link { node, folder, name });
            Some(node)
        } else {
            self.find(folder, &path)
        };
        if let Some(node) = node {
            self.open.insert(call.value().unwrap(), node);
        }
    }

    fn make_folder(&mut self, folder: Option<i64>, path: PathBuf) {
        let node = self.disk.next();
        let (folder, name) = self.split(folder, &path);
        self.make(Step::CreateFolder { node });
        self.make(Step::Link { node, folder, name });
    }

    fn write(&mut self, call: &Call) {
        let length = call.value().unwrap() as usize;
        let mut bytes = match call.name.as_str() {
            "writev" => buffers(&call.arguments[1]).concat(),
            _ => call.bytes(1),
        };
        bytes.truncate(length);
        let offset = match call.name.as_str() {
            "pwrite64" => Some(call.arguments[3].parse().expect("an offset")),
            _ => None, // at the end: what the program writes so, it writes once from the start
        };
        self.change(call, |node| Step::Write { node, offset, bytes });
    }

    /// Something done to the descriptor that is the first argument, if it is one of the model's.
    fn change(&mut self, call: &Call, step: impl FnOnce(NodeId) -> Step) {
        if let Some(&node) = self.open.get(&descriptor(call, 0)) {
            self.make(step(node));
        }
    }

    /// The folder and the name in it that `path` stands for, from an open folder or the working one.
    fn split(&self, folder: Option<i64>, path: &Path) -> (NodeId, OsString) {
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder = self.find(folder, parent).unwrap_or_else(|| panic!("in no folder: {path:?}"));
        (folder, path.file_name().expect("a name").to_owned())
    }

    /// `None` for what lies outside.
    fn find(&self, folder: Option<i64>, path: &Path) -> Option<NodeId> {
        let start = match folder {
            Some(number) if number >= 0 => *self.open.get(&number)?,
            _ => self.disk.root(),
        };
        path.components().try_fold(start, |node, component| match component {
            Component::CurDir => Some(node),
            Component::Normal(name) => self.disk.look_up(node, name),
            Component::ParentDir => self.disk.parent(node),
            Component::RootDir | Component::Prefix(_) => None,
        })
    }
}

/// A descriptor argument; negative for the working folder.
fn descriptor(call: &Call, index: usize) -> i64 {
    match call.arguments[index].as_str() {
        "AT_FDCWD" => -1,
        number => number.parse().unwrap_or_else(|_| panic!("no descriptor: {call}")),
    }
}

fn path(call: &Call, index: usize) -> PathBuf {
    PathBuf::from(OsString::from_vec(call.bytes(index)))
}

fn octal(text: &str) -> u32 {
    u32::from_str_radix(text, 8).unwrap_or_else(|_| panic!("no mode: {text}"))
}

/// The contents of `[{iov_base="…", iov_len=1}, …]`.
fn buffers(text: &str) -> Vec<Vec<u8>> {
    text.split("iov_base=")
        .skip(1)
        .map(|part| crate::strace::decode(part.split(',').next().unwrap()))
        .collect()
}
