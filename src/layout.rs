//! Printing values: their tokens verbatim (D2), the white space between them in a given style (D1).
//!
//! Tokens are copied from the text they stand in, so that numbers, escapes and lone surrogates come out as they went
//! in. Only white space, commas and colons are made anew.

use crate::document::{Cursor, Value};

/// What a `null` in a patch means (M2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// A value like any other: it is stored.
    Store,
    /// RFC 7396: the member is deleted, and left out where an object is new. In arrays `null` stays a value.
    Delete,
}

/// The white space of a container and of what lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style<'a> {
    /// What stands between a key and its value: `: `.
    pub colon: &'a [u8],
    /// What stands behind a comma on one line.
    pub space: &'a [u8],
    /// What stands inside the brackets of a container on one line: `{ "a": 1 }`.
    pub padding: &'a [u8],
    /// How containers are spread over lines; `None` puts all of it on one line.
    pub lines: Option<Lines<'a>>,
}

/// How containers are spread over lines: an item on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines<'a> {
    /// `\n` or `\r\n`.
    pub line_break: &'a [u8],
    /// The indentation of the line that the outermost closing bracket stands on.
    pub indent: &'a [u8],
    /// What each level adds to it.
    pub unit: &'a [u8],
    /// How many levels are spread; what lies deeper stays on one line.
    pub levels: usize,
}

/// The style of a document that pipestate creates (D1).
pub const OWN_STYLE: Style<'static> = Style {
    colon: b": ",
    space: b" ",
    padding: b"",
    lines: Some(Lines { line_break: b"\n", indent: b"", unit: b"  ", levels: ALL_LEVELS }),
};

/// As many levels as are ever spread over lines.
///
/// Indentation grows with the square of the depth: a text of 200 kB, nested 100,000 deep, would come out with 20 GB
/// of it. No state that anybody reads comes near.
pub const ALL_LEVELS: usize = 256;

/// A whole document as pipestate lays it out (D1): two spaces a level, a line feed at the end.
///
/// The members keep their order and number (M4), except that [`Nulls::Delete`] leaves out those that are `null`.
pub fn document(root: Value<'_>, nulls: Nulls) -> Vec<u8> {
    let mut printed = Vec::with_capacity(root.raw().len() * 2);
    print(root, &OWN_STYLE, nulls, &mut printed);
    printed.push(b'\n');
    printed
}

/// Appends the value in the style; an empty container is `{}` or `[]` in any.
pub fn print(value: Value<'_>, style: &Style<'_>, nulls: Nulls, out: &mut Vec<u8>) {
    let mut cursor = value.cursor();
    let mut open = Open::default();
    loop {
        match cursor.byte() {
            bracket @ (b'{' | b'[') => {
                cursor.at += 1;
                out.push(bracket);
                open.push(bracket);
            }
            _ => {
                let scalar = cursor.pass_value();
                out.extend_from_slice(&cursor.text[scalar]);
            }
        }
        while !next_item(&mut cursor, style, nulls, &mut open, out) {
            let Some(level) = open.pop() else { return };
            if level.has_items {
                style.before_close(open.levels.len(), out);
            }
            // `{` and `}`, `[` and `]` are two apart.
            out.push(level.bracket + 2);
        }
    }
}

/// Moves to the next value to print, and prints what comes before it; `false` at the end of the container.
fn next_item(
    cursor: &mut Cursor<'_>,
    style: &Style<'_>,
    nulls: Nulls,
    open: &mut Open,
    out: &mut Vec<u8>,
) -> bool {
    let depth = open.levels.len();
    let is_value_of_patch = open.arrays == 0;
    let Some(level) = open.levels.last_mut() else { return false };
    while cursor.next_item() {
        let key = (level.bracket == b'{').then(|| cursor.pass_key());
        if nulls == Nulls::Delete && key.is_some() && is_value_of_patch && cursor.byte() == b'n' {
            cursor.pass_value();
            continue;
        }
        if level.has_items {
            out.push(b',');
        }
        style.before_item(depth, level.has_items, out);
        level.has_items = true;
        if let Some(key) = key {
            out.extend_from_slice(&cursor.text[key]);
            out.extend_from_slice(style.colon);
        }
        return true;
    }
    false
}

/// The containers that are being printed.
#[derive(Default)]
struct Open {
    levels: Vec<Level>,
    arrays: usize,
}

struct Level {
    bracket: u8,
    has_items: bool,
}

impl Open {
    fn push(&mut self, bracket: u8) {
        self.levels.push(Level { bracket, has_items: false });
        self.arrays += usize::from(bracket == b'[');
    }

    fn pop(&mut self) -> Option<Level> {
        let level = self.levels.pop()?;
        self.arrays -= usize::from(level.bracket == b'[');
        Some(level)
    }
}

impl Style<'_> {
    fn before_item(&self, depth: usize, is_next: bool, out: &mut Vec<u8>) {
        match &self.lines {
            Some(lines) if depth <= lines.levels => lines.begin(depth, out),
            _ if is_next => out.extend_from_slice(self.space),
            _ => out.extend_from_slice(self.padding),
        }
    }

    fn before_close(&self, depth: usize, out: &mut Vec<u8>) {
        match &self.lines {
            Some(lines) if depth < lines.levels => lines.begin(depth, out),
            _ => out.extend_from_slice(self.padding),
        }
    }
}

impl Lines<'_> {
    fn begin(&self, depth: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.line_break);
        out.extend_from_slice(self.indent);
        for _ in 0..depth {
            out.extend_from_slice(self.unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn printed(text: &str, style: &Style<'_>, nulls: Nulls) -> String {
        let document = Document::parse(text.into()).unwrap();
        let mut out = Vec::new();
        print(document.root(), style, nulls, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_new_document_is_indented_by_two_and_ends_in_a_line_feed() {
        let source = Document::parse(
            b"\t{ \"b\":[1.0,1e400 ,{ } ,[\n]],\r\n\"\\u0061\" :{\"b\":\"\\ud83d\",\"b\":null}}".to_vec(),
        )
        .unwrap();
        assert_eq!(
            String::from_utf8(document(source.root(), Nulls::Store)).unwrap(),
            r#"{
  "b": [
    1.0,
    1e400,
    {},
    []
  ],
  "\u0061": {
    "b": "\ud83d",
    "b": null
  }
}
"#
        );
    }

    #[test]
    fn every_style_is_kept_to_the_byte() {
        let text = r#"{"a":[1,{"b":[]}],"c":{}}"#;
        let one_line = |colon, space, padding| Style { colon, space, padding, lines: None };
        let tabs = Lines { line_break: b"\r\n", indent: b"\t", unit: b"\t", levels: ALL_LEVELS };
        for (style, expected) in [
            (one_line(b":", b"", b""), text),
            (one_line(b": ", b" ", b""), r#"{"a": [1, {"b": []}], "c": {}}"#),
            (one_line(b" : ", b" ", b" "), r#"{ "a" : [ 1, { "b" : [] } ], "c" : {} }"#),
            (
                Style { lines: Some(tabs), ..one_line(b":", b"", b"") },
                "{\r\n\t\t\"a\":[\r\n\t\t\t1,\r\n\t\t\t{\r\n\t\t\t\t\"b\":[]\r\n\t\t\t}\r\n\t\t],\r\n\t\t\"c\":{}\r\n\t}",
            ),
            (
                Style { lines: Some(Lines { levels: 1, ..tabs }), ..one_line(b": ", b" ", b"") },
                "{\r\n\t\t\"a\": [1, {\"b\": []}],\r\n\t\t\"c\": {}\r\n\t}",
            ),
        ] {
            assert_eq!(printed(text, &style, Nulls::Store), expected);
        }
        assert_eq!(printed(" 1.50 ", &OWN_STYLE, Nulls::Store), "1.50");
    }

    #[test]
    fn deleted_nulls_leave_no_trace_but_stay_in_arrays() {
        let style = Style { lines: None, ..OWN_STYLE };
        for (text, expected) in [
            (r#"{"a":null}"#, "{}"),
            (r#"{"a":null,"b":1,"c":null,"d":2,"e":null}"#, r#"{"b": 1, "d": 2}"#),
            (r#"{"a":{"b":null,"c":{"d":null}}}"#, r#"{"a": {"c": {}}}"#),
            (r#"{"a":[null,{"b":null}]}"#, r#"{"a": [null, {"b": null}]}"#),
            (r#"{"a":[1],"b":null}"#, r#"{"a": [1]}"#),
        ] {
            assert_eq!(printed(text, &style, Nulls::Delete), expected);
        }
    }

    #[test]
    fn indentation_stops_growing_where_nobody_reads() {
        let depth = 100_000;
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let output = printed(&text, &OWN_STYLE, Nulls::Store);
        assert_eq!(output.split_whitespace().collect::<String>(), text);
        assert_eq!(output.lines().count(), 2 * ALL_LEVELS + 1);
    }
}
