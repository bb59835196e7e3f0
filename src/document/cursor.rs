//! Walking over text that has been validated: no grammar is checked again, so values are passed quickly.

use std::ops::Range;

use super::skip::container_end;
use super::words::{plain_end, whitespace_end};

/// A position in validated text.
///
/// What keeps every method from running off the text is that the text has passed the scanner and that the caller
/// stands where the method says; neither can be broken from outside the crate.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    /// The validated text.
    pub(crate) text: &'a [u8],
    /// The byte that comes next.
    pub(crate) at: usize,
    /// Containers that can be passed at once, if any are known.
    pub(super) long: &'a [Range<usize>],
}

impl<'a> Cursor<'a> {
    /// A cursor at a byte of a text of which nothing more is known.
    pub(crate) fn new(text: &'a [u8], at: usize) -> Cursor<'a> {
        Cursor { text, at, long: &[] }
    }

    /// The byte at the position.
    #[inline(always)]
    pub(crate) fn byte(&self) -> u8 {
        self.text[self.at]
    }

    /// From anywhere between two tokens to the second.
    #[inline(always)]
    pub(super) fn pass_whitespace(&mut self) {
        self.at = whitespace_end(self.text, self.at);
    }

    /// From behind an opening bracket or behind an item to the next item; `false` is the end of the container, whose
    /// closing bracket is passed.
    #[inline(always)]
    pub(crate) fn next_item(&mut self) -> bool {
        self.at = whitespace_end(self.text, self.at);
        match self.byte() {
            b',' => self.at = whitespace_end(self.text, self.at + 1),
            b'}' | b']' => {
                self.at += 1;
                return false;
            }
            _ => {}
        }
        true
    }

    /// Whether a container with something in it begins at the position.
    #[inline(always)]
    pub(crate) fn is_at_container_with_items(&self) -> bool {
        let is_container = matches!(self.byte(), b'{' | b'[');
        is_container && !matches!(self.text[whitespace_end(self.text, self.at + 1)], b'}' | b']')
    }

    /// From a key to its value; returns where the key stands, with its quotes.
    #[inline(always)]
    pub(crate) fn pass_key(&mut self) -> Range<usize> {
        let key = self.pass_string();
        self.at = whitespace_end(self.text, key.end);
        // The colon.
        self.at = whitespace_end(self.text, self.at + 1);
        key
    }

    /// From a value to behind it; returns where it stands.
    #[inline(always)]
    pub(crate) fn pass_value(&mut self) -> Range<usize> {
        match self.byte() {
            b'"' => self.pass_string(),
            b'{' | b'[' => {
                let start = self.at;
                self.at = container_end(self.text, start, self.long);
                start..self.at
            }
            _ => self.pass_bare(),
        }
    }

    /// From a string's opening quote to behind its closing one.
    #[inline(always)]
    pub(super) fn pass_string(&mut self) -> Range<usize> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at = plain_end(self.text, self.at);
            if self.byte() == b'"' {
                self.at += 1;
                return start..self.at;
            }
            // A backslash, and what it escapes.
            self.at += 2;
        }
    }

    /// From a number or a literal to the byte that ends it.
    #[inline(always)]
    pub(super) fn pass_bare(&mut self) -> Range<usize> {
        let start = self.at;
        while !matches!(
            self.text.get(self.at),
            None | Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
        ) {
            self.at += 1;
        }
        start..self.at
    }
}
