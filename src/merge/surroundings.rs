//! The style of what is written into a document: that of its neighbours (D2).
//!
//! A container counts as spread over lines when a line break follows its opening bracket. Nothing here walks through a
//! container that lies within a neighbour, so that asking on every level of a deep document stays cheap.

use std::cell::OnceCell;
use std::ops::Range;

use crate::document::{Cursor, Kind, whitespace_end};
use crate::layout::{ALL_LEVELS, Lines, OWN_STYLE, Style};

/// Two spaces, where nothing tells how far a level is indented.
const UNKNOWN_UNIT: &[u8] = b"  ";

/// The white space that a container which is being walked through has shown so far.
#[derive(Debug, Clone)]
pub(super) struct Surroundings<'d> {
    text: &'d [u8],
    /// Between the opening bracket and the first item.
    first_gap: &'d [u8],
    /// Between the last two items, comma included; `None` while there is but one.
    separator: Option<&'d [u8]>,
    /// Between the last key and its value; that of the container around an array.
    colon: &'d [u8],
    /// The indentation of the nearest container around this one that is spread over lines.
    outer_indent: &'d [u8],
    /// The last item that is an object with something in it.
    object: Option<Sample<'d>>,
    /// The last item that is an array with something in it.
    array: Option<Sample<'d>>,
}

/// A container whose style is an example for its siblings.
#[derive(Debug, Clone)]
struct Sample<'d> {
    span: Range<usize>,
    /// Its style, once somebody has asked: it may be long to look into, and many may ask.
    style: OnceCell<Box<Style<'d>>>,
}

impl<'d> Surroundings<'d> {
    /// Those of the container whose opening bracket stands at `open`.
    pub(super) fn enter(text: &'d [u8], open: usize, outer: Option<&Surroundings<'d>>) -> Surroundings<'d> {
        Surroundings {
            text,
            first_gap: gap_after(text, open + 1),
            separator: None,
            colon: outer.map_or(OWN_STYLE.colon, |outer| outer.colon),
            outer_indent: outer.map_or(b"", |outer| outer.indent().unwrap_or(outer.outer_indent)),
            object: None,
            array: None,
        }
    }

    /// Takes note of what stands between two items.
    pub(super) fn note_separator(&mut self, span: Range<usize>) {
        self.separator = Some(&self.text[span]);
    }

    /// Takes note of what stands between a key and its value.
    pub(super) fn note_colon(&mut self, span: Range<usize>) {
        self.colon = &self.text[span];
    }

    /// Takes note of an item's value.
    pub(super) fn note_value(&mut self, span: Range<usize>) {
        if self.has_items(span.start) {
            let sample = if self.text[span.start] == b'{' { &mut self.object } else { &mut self.array };
            *sample = Some(Sample { span, style: OnceCell::new() });
        }
    }

    /// What comes between a key and its value in this container.
    pub(super) fn colon(&self) -> &'d [u8] {
        self.colon
    }

    /// Appends what comes between two items of this container, comma included.
    pub(super) fn separate(&self, out: &mut Vec<u8>) {
        match (self.separator, line_start(self.first_gap)) {
            (Some(separator), _) => out.extend_from_slice(separator),
            (None, Some((line_break, indent))) => {
                out.push(b',');
                out.extend_from_slice(line_break);
                out.extend_from_slice(indent);
            }
            (None, None) => {
                out.push(b',');
                out.extend_from_slice(self.space());
            }
        }
    }

    /// The style of a container that is new in this one: that of the last sibling of its kind with something in it, else
    /// of the other kind, else on lines of its own if this container's items are.
    pub(super) fn style_of_new(&self, kind: Kind) -> Style<'d> {
        let sample = match kind {
            Kind::Array => self.array.as_ref().or(self.object.as_ref()),
            _ => self.object.as_ref().or(self.array.as_ref()),
        };
        if let Some(Sample { span, style }) = sample {
            return **style.get_or_init(|| Box::new(self.style_of(span.clone())));
        }
        let lines = line_start(self.first_gap).map(|(line_break, indent)| {
            let unit = indent.strip_prefix(self.outer_indent).unwrap_or(UNKNOWN_UNIT);
            Lines { line_break, indent, unit, levels: ALL_LEVELS }
        });
        Style { colon: self.colon, space: self.space(), padding: self.padding(), lines }
    }

    /// The style of a container of that kind that replaces an item's value: the value's own, if it is a container that
    /// shows one.
    pub(super) fn style_in_place_of(&self, value: Range<usize>, kind: Kind) -> Style<'d> {
        if self.has_items(value.start) { self.style_of(value) } else { self.style_of_new(kind) }
    }

    /// The style that an item of this container, a container with something in it, has itself.
    fn style_of(&self, container: Range<usize>) -> Style<'d> {
        let (inside, nested) = self.look_into(container.start);
        let Some((line_break, item_indent)) = line_start(inside.first_gap) else {
            return Style {
                colon: inside.colon,
                space: inside.space(),
                padding: inside.padding(),
                lines: None,
            };
        };
        let indent = match line_start(gap_before(self.text, container.end - 1)) {
            Some((_, closing_indent)) => closing_indent,
            None => self.indent().unwrap_or(self.outer_indent),
        };
        let unit = item_indent.strip_prefix(indent).unwrap_or(UNKNOWN_UNIT);
        let lines = Lines { line_break, indent, unit, levels: ALL_LEVELS };
        // Spread itself, it may keep what it contains on one line: `"files": ["a", "b"]`.
        let nested = nested.map(|open| inside.look_into(open).0).filter(|nested| nested.indent().is_none());
        let (levels, innermost) = nested.as_ref().map_or((ALL_LEVELS, &inside), |nested| (1, nested));
        Style {
            colon: inside.colon,
            space: innermost.space(),
            padding: innermost.padding(),
            lines: Some(Lines { levels, ..lines }),
        }
    }

    /// What the container at `open` shows up to its first item that is a container with something in it, and where that
    /// one opens.
    ///
    /// Going on behind it would mean to walk through it, and to do so again when it is looked into itself.
    fn look_into(&self, open: usize) -> (Surroundings<'d>, Option<usize>) {
        let mut inside = Surroundings::enter(self.text, open, Some(self));
        let mut cursor = Cursor::new(self.text, open + 1);
        let mut end = None;
        while cursor.next_item() {
            if let Some(end) = end {
                inside.note_separator(end..cursor.at);
            }
            if self.text[open] == b'{' {
                let key = cursor.pass_key();
                inside.note_colon(key.end..cursor.at);
            }
            if cursor.is_at_container_with_items() {
                return (inside, Some(cursor.at));
            }
            end = Some(cursor.pass_value().end);
        }
        (inside, None)
    }

    fn has_items(&self, value_start: usize) -> bool {
        Cursor::new(self.text, value_start).is_at_container_with_items()
    }

    /// The indentation of the items, if they stand on lines of their own.
    fn indent(&self) -> Option<&'d [u8]> {
        line_start(self.first_gap).map(|(_, indent)| indent)
    }

    /// What follows a comma on one line.
    fn space(&self) -> &'d [u8] {
        let after_comma = self.separator.and_then(|separator| separator.strip_prefix(b","));
        match after_comma {
            Some(space) if line_start(space).is_none() => space,
            // Nothing to copy: who writes `"a": 1` or `{ "a":1 }` leaves room behind commas too.
            _ if self.colon.ends_with(b" ") || !self.padding().is_empty() => b" ",
            _ => b"",
        }
    }

    /// What stands inside the brackets on one line.
    fn padding(&self) -> &'d [u8] {
        if line_start(self.first_gap).is_none() { self.first_gap } else { b"" }
    }
}

/// The white space from `start` on.
fn gap_after(text: &[u8], start: usize) -> &[u8] {
    &text[start..whitespace_end(text, start)]
}

/// The white space up to `end`.
fn gap_before(text: &[u8], end: usize) -> &[u8] {
    let is_white = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let start = text[..end].iter().rposition(|byte| !is_white(byte)).map_or(0, |at| at + 1);
    &text[start..end]
}

/// The last line break of a gap and the indentation behind it.
fn line_start(gap: &[u8]) -> Option<(&[u8], &[u8])> {
    let last = gap.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'))?;
    let first = if gap[..last].ends_with(b"\r") && gap[last] == b'\n' { last - 1 } else { last };
    Some((&gap[first..=last], &gap[last + 1..]))
}
