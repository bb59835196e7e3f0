//! The one place that prints (X2): results to stdout, one line per error to stderr, one object with `--json`.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments::Stop;
use crate::error::Error;
use crate::lock::Holder;
use crate::text::one_line;

/// Where a command's results go.
pub struct Output {
    json: bool,
}

impl Output {
    /// Prints objects if `json`, else lines.
    pub fn new(json: bool) -> Output {
        Output { json }
    }

    /// Prints one result: `object` with `"ok": true` in front as JSON, or `line`, which may be empty for none.
    pub fn result(&mut self, object: Value, line: &str) -> Result<(), Error> {
        match (self.json, line) {
            (true, _) => self.object(&with_ok(true, object)),
            (false, "") => Ok(()),
            (false, line) => self.line(line),
        }
    }

    /// Prints a line.
    pub fn line(&mut self, line: &str) -> Result<(), Error> {
        self.bytes(&[one_line(line).as_bytes(), b"\n"])
    }

    /// Prints an object that says itself whether all is well.
    pub fn object(&mut self, object: &impl Serialize) -> Result<(), Error> {
        self.bytes(&[to_line(object).as_bytes()])
    }

    /// Prints `object` with `"ok": ok` in front as JSON, or lines that are ready to be printed. Says whether anybody
    /// is still there to read more.
    pub fn results(&mut self, ok: bool, object: Value, lines: &str) -> Result<bool, Error> {
        if self.json {
            self.print(&[to_line(&with_ok(ok, object)).as_bytes()])
        } else {
            self.print(&[lines.as_bytes()])
        }
    }

    /// Prints something as it is.
    ///
    /// # Errors
    /// When stdout takes it not, but for a reader that has gone: it has what it wanted.
    pub fn bytes(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        self.print(parts).map(drop)
    }

    /// The same, and whether the reader is still there.
    fn print(&mut self, parts: &[&[u8]]) -> Result<bool, Error> {
        let mut stdout = io::stdout().lock();
        let mut print = || -> io::Result<()> {
            parts.iter().try_for_each(|part| write_through(&mut stdout, part))?;
            stdout.flush()
        };
        match print() {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::io("stdout".as_ref(), "print the result", "write", error)),
        }
    }

    /// The same for what is done already and cannot become undone because nobody can be told.
    pub fn done(&mut self, object: Value) {
        if self.json
            && let Err(error) = self.result(object, "")
        {
            self.warning(&error.to_string());
        }
    }

    /// The same with lines where objects are not asked for.
    pub fn results_of_done(&mut self, object: Value, lines: &[String]) {
        let lines: String = lines.iter().map(|line| one_line(line) + "\n").collect();
        if let Err(error) = self.results(true, object, &lines) {
            self.warning(&error.to_string());
        }
    }

    /// Lines of what has been done, where objects are not asked for.
    pub fn lines_of_done(&mut self, lines: &[String]) {
        if !self.json {
            self.results_of_done(Value::Null, lines);
        }
    }

    /// A question on stderr, whose line its answer ends.
    pub fn ask(&mut self, question: &str) {
        let _ = write_through(&mut io::stderr().lock(), one_line(question).as_bytes()); // no answer is a no
    }

    /// One line on stderr that is told word for word (S1, S3).
    pub fn alert(&mut self, line: &str) {
        print_to_stderr(line);
    }

    /// One line on stderr that is not a failure.
    pub fn warning(&mut self, message: &str) {
        print_to_stderr(&format!("pipestate: warning: {message}"));
    }

    /// Tells of a failure and returns its exit code.
    pub fn failure(&mut self, error: &Error) -> u8 {
        self.failure_with(error, Value::Null)
    }

    /// The same, with `more` behind the error in the object.
    pub fn failure_with(&mut self, error: &Error, more: Value) -> u8 {
        print_to_stderr(&format!("pipestate: {error}"));
        if self.json {
            let mut object = json!({ "error": to_object(error) });
            if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
                object.extend(more);
            }
            let object = with_ok(false, object);
            let _ = self.bytes(&[to_line(&object).as_bytes()]); // stderr has it already
        }
        error.exit_code()
    }
}

/// Tells what is wrong with the command line, or prints the help that was asked for, and returns the exit code.
pub fn stopped(stop: &Stop) -> u8 {
    match stop {
        Stop::Help(text) => {
            let _ = Output::new(false).bytes(&[text.as_bytes()]); // nothing else was to be done
            0
        }
        Stop::NoCommand(text) => {
            let _ = write_through(&mut io::stderr().lock(), text.as_bytes()); // as there
            64
        }
        Stop::Wrong(message) => {
            print_to_stderr(&format!("pipestate: {message}"));
            64
        }
    }
}

/// An error as `--json` and JavaScript see it.
pub fn to_object(error: &Error) -> Value {
    let mut object = Map::new();
    object.insert("code".into(), error.code().into());
    object.insert("exitCode".into(), error.exit_code().into());
    object.insert("message".into(), error.to_string().into());
    if let Some(path) = error.path() {
        object.insert("path".into(), path.to_string_lossy().into());
    }
    if let Some(pointer) = error.pointer() {
        object.insert("pointer".into(), pointer.into());
    }
    if let Some(holder) = error.holder() {
        object.insert("holder".into(), holder_object(holder));
    }
    if let Some((syscall, errno)) = error.system() {
        object.insert("syscall".into(), syscall.into());
        object.extend(errno.map(|errno| ("errno".to_owned(), errno.into())));
    }
    if let Error::InvalidJson { fault, .. } = error {
        object.insert("line".into(), fault.line.into());
        object.insert("column".into(), fault.column.into());
        object.insert("offset".into(), fault.offset.into());
    }
    if let Error::AmbiguousTask { candidates, .. } = error {
        object.insert("candidates".into(), candidates.as_slice().into());
    }
    if let Error::NotAllRemoved { removed, left, .. } = error {
        object.insert("removed".into(), removed.as_slice().into());
        object.insert("left".into(), left.as_slice().into());
    }
    if let Error::Conflict { actual, .. } = error {
        object.insert("rev".into(), actual.as_str().into());
    }
    Value::Object(object)
}

/// A lock's holder as `--json` and JavaScript see it.
pub fn holder_object(holder: &Holder) -> Value {
    json!({
        "pid": holder.pid,
        "program": holder.program,
        "host": holder.host,
        "ageMs": holder.age.map(|age| age.as_millis() as u64),
        "alive": holder.alive,
        "why": holder.why,
    })
}

fn with_ok(ok: bool, object: Value) -> Value {
    let mut result = Map::from_iter([("ok".to_owned(), Value::Bool(ok))]);
    if let Value::Object(object) = object {
        result.extend(object);
    }
    Value::Object(result)
}

fn to_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).expect("a tree of strings and numbers is JSON");
    line.push('\n');
    line
}

fn print_to_stderr(line: &str) {
    // There is nowhere left to say that this failed.
    let _ = write_through(&mut io::stderr().lock(), format!("{}\n", one_line(line)).as_bytes());
}

/// Writes all of `bytes`, also to a pipe that its other user has made non-blocking.
fn write_through(stream: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
