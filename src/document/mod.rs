//! JSON text as it stands in the file: checked once, then looked at where it lies (D2, D3).
//!
//! 1. [`Document::parse`] checks the whole text, grammar and UTF-8, without building anything. What it refuses is
//!    named by a [`Fault`].
//! 2. [`Value`] is a place in that text. Members, elements and pointers are found by walking over it; strings are
//!    decoded and numbers are read only when somebody asks.
//!
//! Nothing here changes a document: [`crate::merge`] computes edits, and every byte outside of them stays. Nothing
//! recurses: depth costs one bit a level while parsing and nothing afterwards.

mod block;
mod cursor;
mod fault;
mod pointer;
mod scan;
mod skip;
mod string;
mod strings;
mod value;
mod verdict;
mod words;

use std::fmt;
use std::ops::Range;

pub(crate) use cursor::Cursor;
pub(crate) use fault::line_column;
pub use fault::{Fault, FaultKind, drop_bom};
pub(crate) use pointer::array_index;
pub use pointer::pointer_token;
pub use value::{Elements, Key, Kind, Member, Members, Value};
pub(crate) use words::whitespace_end;

/// A text that is one JSON value in UTF-8 (D3), and the bytes it came in.
#[derive(Clone)]
pub struct Document {
    text: Vec<u8>,
    root: Range<usize>,
    /// Items of the root that are long containers.
    long: Vec<Range<usize>>,
}

impl Document {
    /// Checks that the text is UTF-8 and one JSON value, exactly as `JSON.parse` has it (D3).
    ///
    /// Any value may be the root, and it may be nested as deep as memory goes. A byte order mark is a fault (D4);
    /// [`drop_bom`] is for stdin.
    ///
    /// ```
    /// use pipestate::document::Document;
    ///
    /// let document = Document::parse(br#"{"phases": {"4": {"status": "running"}}}"#.to_vec()).unwrap();
    /// let status = document.root().pointer("/phases/4/status").unwrap();
    /// assert_eq!(status.as_str().as_deref(), Some("running"));
    ///
    /// let fault = Document::parse(br#"{"phases": "#.to_vec()).unwrap_err();
    /// assert_eq!(fault.to_string(), "unexpected end of the text at line 1, column 12 (byte 11): it is torn");
    /// ```
    pub fn parse(text: Vec<u8>) -> Result<Document, Fault> {
        if let Some(root) = verdict::root(&text) {
            return Ok(Document { text, root: root.span, long: root.long_items });
        }
        let is_utf8 = simdutf8::basic::from_utf8(&text).is_ok();
        match scan::scan(&text) {
            Ok(root) if is_utf8 => Ok(Document { text, root, long: Vec::new() }),
            scanned => Err(fault::diagnose(&text, scanned.err())),
        }
    }

    /// The text, byte for byte as it was parsed.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Gives the text back.
    pub fn into_text(self) -> Vec<u8> {
        self.text
    }

    /// The value that the text is.
    pub fn root(&self) -> Value<'_> {
        Value::root(&self.text, self.root.clone(), &self.long)
    }

    /// Whether white space stands before the root value, which D1 accepts and warns of.
    pub fn has_leading_whitespace(&self) -> bool {
        self.root.start > 0
    }

    /// Line and column of a byte offset, both counted from 1, columns in characters.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        fault::line_column(&self.text, offset)
    }
}

/// Prints the root value's text.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root().fmt(f)
    }
}
