//! The program under strace: what it asks of the kernel, and the kernel made to refuse or to kill.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::pipestate;

/// One system call of a trace.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    /// As strace prints them, with the path of a descriptor behind it: `3</tmp/folder>`.
    pub arguments: Vec<String>,
    pub returned: Returned,
    /// How many calls of this name the process has made with it, from its first instruction on: strace's `when=`.
    pub count: usize,
    /// Whether strace made the kernel refuse it.
    pub injected: bool,
    line: String,
}

/// What a system call brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    Value(i64),
    /// The name of an error, `EACCES`.
    Error(String),
    /// The process ended in it.
    Nothing,
}

/// What is to happen at one call, by its name and position.
#[derive(Clone, Debug)]
pub struct Fault {
    pub call: String,
    pub count: usize,
    pub kind: FaultKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The kernel does nothing and says this.
    Error(&'static str),
    /// The same from here on, at every call of these names, each from its count on: the disk has failed.
    Failing { error: &'static str, from: Vec<(String, usize)> },
    /// SIGKILL as the call begins: the kernel does nothing.
    Kill,
    /// SIGTERM as the call begins.
    Terminate,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::Error(error) => write!(f, "{error}")?,
            FaultKind::Failing { error, .. } => write!(f, "nothing but {error}")?,
            FaultKind::Kill => write!(f, "SIGKILL")?,
            FaultKind::Terminate => write!(f, "SIGTERM")?,
        }
        write!(f, " at {} number {}", self.call, self.count)
    }
}

impl Fault {
    /// As options of strace.
    pub fn options(&self) -> Vec<String> {
        let at = |kind: &str| vec![format!("--inject={}:{kind}:when={}", self.call, self.count)];
        match &self.kind {
            FaultKind::Error(error) => at(&format!("error={error}")),
            FaultKind::Kill => at("signal=KILL"),
            FaultKind::Terminate => at("signal=TERM"),
            FaultKind::Failing { error, from } => from
                .iter()
                .map(|(call, count)| format!("--inject={call}:error={error}:when={count}+"))
                .collect(),
        }
    }
}

impl Call {
    /// The path of the descriptor in argument `index`, without the mark of a nameless file.
    pub fn path(&self, index: usize) -> Option<&str> {
        let (_, path) = self.arguments.get(index)?.split_once('<')?;
        path.rsplit_once('>').map(|(path, _)| path)
    }

    /// The text of argument `index`, when it is a string that strace had no need to escape.
    pub fn text(&self, index: usize) -> Option<&str> {
        self.arguments.get(index)?.strip_prefix('"')?.strip_suffix('"')
    }

    /// The bytes of argument `index`, when strace was told to print strings in hexadecimal (`-xx`).
    pub fn bytes(&self, index: usize) -> Vec<u8> {
        decode(&self.arguments[index])
    }

    pub fn value(&self) -> Option<i64> {
        match self.returned {
            Returned::Value(value) => Some(value),
            _ => None,
        }
    }

    pub fn succeeded(&self) -> bool {
        self.value().is_some()
    }

    /// `line` is one of strace's; `None` for those that are no call.
    fn parse(line: &str) -> Option<Call> {
        if line.starts_with("+++") || line.starts_with("---") {
            return None;
        }
        let (name, rest) = line.split_once('(').unwrap_or_else(|| panic!("not a call: {line}"));
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(is_name, "not a call: {line}");
        let (arguments, rest) = split_arguments(rest);
        let rest = rest.trim_start().strip_prefix('=').unwrap_or_else(|| panic!("no result: {line}")).trim();
        let mut words = rest.split_whitespace();
        let value = words.next().unwrap_or_else(|| panic!("no result: {line}"));
        let value = value.split('<').next().unwrap();
        let number = match value.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        };
        let returned = match number {
            Some(-1) => Returned::Error(words.next().unwrap_or_default().to_owned()),
            Some(number) => Returned::Value(number),
            None => Returned::Nothing,
        };
        let injected = line.ends_with("(INJECTED)");
        Some(Call { name: name.to_owned(), arguments, returned, count: 0, injected, line: line.to_owned() })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}

/// Splits what follows the opening parenthesis of a call into its arguments and the rest behind the closing one.
fn split_arguments(text: &str) -> (Vec<String>, &str) {
    let (mut arguments, mut start, mut depth, mut quoted, mut escaped) = (Vec::new(), 0, 0, false, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' if depth == 0 => {
                if start < index {
                    arguments.push(text[start..index].trim().to_owned());
                }
                return (arguments, &text[index + 1..]);
            }
            // `->` and `=>` do not occur in calls; `>` closes a descriptor's path.
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 0 => {
                arguments.push(text[start..index].trim().to_owned());
                start = index + 1;
            }
            _ => {}
        }
    }
    // A call that the process died in has no closing parenthesis when strace had not printed all of it.
    panic!("not closed: {text}")
}

/// The bytes of a string that `strace -xx` printed.
pub fn decode(text: &str) -> Vec<u8> {
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let text = text.unwrap_or_else(|| panic!("not a whole string"));
    let byte = |digits| u8::from_str_radix(digits, 16).expect("strace -xx prints every byte so");
    text.split("\\x").skip(1).map(byte).collect()
}

/// `strace pipestate`, with strace's `options` and the trace going to `trace`; what the program is asked to do is added
/// by the caller.
pub fn command<'a>(trace: &Path, options: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("strace");
    command.args(options).arg("-o").arg(trace);
    let program = pipestate();
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.arg(program.get_program());
    command
}

/// Reads a trace, from the program's first instruction on.
pub fn read(trace: &Path) -> Vec<Call> {
    let text = String::from_utf8_lossy(&fs::read(trace).unwrap()).into_owned();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut calls: Vec<Call> = text.lines().filter_map(Call::parse).collect();
    for call in &mut calls {
        let count = counts.entry(call.name.clone()).or_default();
        *count += 1;
        call.count = *count;
        // One process of one thread is all that these traces can show.
        assert!(!matches!(call.name.as_str(), "clone" | "clone3" | "fork" | "vfork"), "{call}");
    }
    calls
}

/// Index of the first call of the program's own work: its first look at stdin. What lies before is the loader and the
/// reading of the command line, neither of which knows the state file.
pub fn start_of_work(calls: &[Call]) -> usize {
    let is_stdin =
        |call: &Call| call.arguments.first().and_then(|first| first.split('<').next()) == Some("0");
    calls
        .iter()
        .position(|call| matches!(call.name.as_str(), "ioctl" | "read") && is_stdin(call))
        .expect("the program looks at stdin")
}

/// Whether strace can be used here; says so when it cannot.
pub fn available() -> bool {
    let available = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let available = available.is_ok_and(|output| output.status.success());
    if !available {
        println!("skipped: there is no strace, or it may not trace");
    }
    available
}
