//! What a text that is no state document would be without its accidents, and what was done to it: pure, and a proposal.
//!
//! 1. [`Document::parse`] names the first fault.
//! 2. [`mend`] says which splices take it away; where any would be a guess at data, none.
//! 3. Again, until the text parses or a fault has no mend. Faults and changes are told where they stand in the original.
//! 4. In a text without faults, keys that stand twice are reduced to the one that counts ([`twice`]), since no patch can set
//!    them (D6).
//!
//! What a crash has taken is not there to be mended: a torn text is cut back to its last whole value.

use std::collections::HashMap;
use std::ops::Range;

use crate::document::{Document, Fault, FaultKind, Kind, Value, line_column, pointer_token};
use crate::sort::sort_by;

/// A place in the original text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Bytes before it.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
}

/// One change of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it is made.
    pub at: Position,
    /// What is changed, for people.
    pub what: String,
}

/// A text as it would be without what is wrong with it.
#[derive(Debug)]
pub struct Repaired {
    /// The faults of the text, in the order in which they were met: the first is what every reader meets.
    pub faults: Vec<Fault>,
    /// What was done about them.
    pub changes: Vec<Change>,
    /// The document; `None` when something is left that only somebody who knows the run can mend.
    pub document: Option<Document>,
}

/// After so many faults it is no accident any more.
const MOST_FAULTS: usize = 200;

/// Mends what can be mended without guessing.
pub fn repair(text: &[u8]) -> Repaired {
    let mut draft = Draft::new(text.to_vec());
    let mut faults = Vec::new();
    let mut changes = Vec::new();
    let document = loop {
        let fault = match Document::parse(draft.text.clone()) {
            Ok(document) => break Some(document).filter(|document| document.root().kind() == Kind::Object),
            Err(fault) => fault,
        };
        let at = draft.position(fault.offset);
        let told = Fault { offset: at.offset, line: at.line, column: at.column, kind: fault.kind.clone() };
        faults.push(told);
        let Some(mend) = mend(&draft.text, &fault).filter(|_| faults.len() <= MOST_FAULTS) else {
            break None;
        };
        changes.push(Change { at, what: mend.what });
        match mend.means {
            Means::Splices(splices) => splices.into_iter().for_each(|(span, text)| draft.splice(span, &text)),
            Means::Rewrite(text) => draft = Draft::new(text),
        }
    };
    // In a mended text they may be what is left of two objects that ran together.
    let document = match document {
        Some(document) if faults.is_empty() => without_repetitions(document, &mut changes),
        document => document,
    };
    Repaired { faults, changes, document }
}

/// The text on its way, and how its offsets lead back to the original's.
struct Draft {
    original: Vec<u8>,
    text: Vec<u8>,
    /// Of each splice: where, how much went, how much came.
    splices: Vec<(usize, usize, usize)>,
}

impl Draft {
    fn new(text: Vec<u8>) -> Draft {
        Draft { original: text.clone(), text, splices: Vec::new() }
    }

    fn splice(&mut self, span: Range<usize>, text: &[u8]) {
        self.splices.push((span.start, span.len(), text.len()));
        self.text.splice(span, text.iter().copied());
    }

    fn position(&self, offset: usize) -> Position {
        let offset = self.splices.iter().rev().fold(offset, |offset, &(at, went, came)| match offset {
            _ if offset >= at + came => offset - came + went,
            _ => offset.min(at),
        });
        let (line, column) = line_column(&self.original, offset);
        Position { offset, line, column }
    }
}

/// How one fault is taken away.
struct Mend {
    what: String,
    means: Means,
}

enum Means {
    /// Replace these bytes by those, one after the other.
    Splices(Vec<(Range<usize>, Vec<u8>)>),
    /// Read it all in another way.
    Rewrite(Vec<u8>),
}

fn mend(text: &[u8], fault: &Fault) -> Option<Mend> {
    let at = fault.offset;
    let one = |span: Range<usize>, by: &[u8], what: &str| {
        Some(Mend { what: what.to_owned(), means: Means::Splices(vec![(span, by.to_vec())]) })
    };
    // Where what stands before ends.
    let before = text[..at.min(text.len())].trim_ascii_end().len();
    match &fault.kind {
        FaultKind::Utf16 => {
            let means = Means::Rewrite(from_utf16(text)?);
            Some(Mend {
                what: "the UTF-16 is written as UTF-8; offsets from here on are those of the UTF-8".into(),
                means,
            })
        }
        FaultKind::ByteOrderMark => one(0..3, b"", "the byte order mark is taken away"),
        FaultKind::NulPadding { count } => {
            let what = format!("{count} NUL bytes are taken away; what stood in their place is lost");
            one(at..at + count, b"", &what)
        }
        FaultKind::ConflictMarker => conflict(text, at),
        FaultKind::Torn => torn(text),
        FaultKind::TrailingBytes { count } => {
            let is_document =
                Document::parse(text[at..].to_vec()).is_ok_and(|rest| rest.root().kind() == Kind::Object);
            let more = if is_document {
                "; they are a document of their own: look which of the two is the newer"
            } else {
                ""
            };
            one(at..text.len(), b"", &format!("{count} bytes after the end are taken away{more}"))
        }
        FaultKind::MissingComma => one(before..before, b",", "a comma is put in"),
        FaultKind::TrailingComma => one(at..at + 1, b"", "the comma is taken away"),
        FaultKind::MissingColon if is_value_start(text.get(at)) => {
            one(before..before, b":", "a colon is put in")
        }
        FaultKind::WrongBracket { wanted, .. } => {
            one(before..before, wanted.to_string().as_bytes(), &format!("the missing `{wanted}` is put in"))
        }
        FaultKind::Comment => one(at..comment_end(text, at)?, b"", "the comment is taken away"),
        FaultKind::UnknownWord(word) => {
            let by = match word.as_str() {
                "True" | "TRUE" => "true",
                "False" | "FALSE" => "false",
                "None" | "nil" | "NULL" | "Null" | "undefined" | "NaN" => "null",
                _ => return None,
            };
            one(at..at + word.len(), by.as_bytes(), &format!("`{word}` is written as `{by}`"))
        }
        // A line feed rather means that a closing quote is missing.
        FaultKind::ControlCharacter(byte) if !matches!(byte, b'\n' | b'\r') => {
            one(at..at + 1, format!("\\u{byte:04x}").as_bytes(), "the control character is escaped")
        }
        FaultKind::BadEscape => {
            let backslash = text[..at].iter().rposition(|&byte| byte == b'\\')?;
            one(backslash..backslash, b"\\", "the backslash is doubled")
        }
        FaultKind::InvalidUtf8(_) => one(at..at + 1, "\u{fffd}".as_bytes(), "the byte is replaced by U+FFFD"),
        _ => None,
    }
}

fn is_value_start(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'))
}

/// Text in UTF-16 of either byte order, with a mark or without.
fn from_utf16(text: &[u8]) -> Option<Vec<u8>> {
    let is_big = text.starts_with(&[0xfe, 0xff]) || text.first() == Some(&0);
    let unit = |pair: &[u8]| {
        let pair = [pair[0], pair[1]];
        if is_big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    };
    let units: Vec<u16> = text.chunks_exact(2).map(unit).collect();
    let text = String::from_utf16(&units).ok()?;
    Some(text.trim_start_matches('\u{feff}').as_bytes().to_vec())
}

/// The first side of a merge conflict stays, whole lines of it.
fn conflict(text: &[u8], at: usize) -> Option<Mend> {
    let line_end = |from: usize| {
        text[from..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| from + end + 1)
    };
    let starts = |from: usize, marker: &[u8]| text[from..].starts_with(marker);
    if !starts(at, b"<<<<<<<") {
        return None;
    }
    let (mut line, mut other) = (line_end(at), None);
    while line < text.len() {
        if other.is_none() && (starts(line, b"|||||||") || starts(line, b"=======")) {
            other = Some(line);
        }
        if starts(line, b">>>>>>>") {
            let other = other?;
            let left_out = text[other..line].iter().filter(|&&byte| byte == b'\n').count();
            let what = format!(
                "the first side of the conflict is kept; the {left_out} lines of the rest of it are left out"
            );
            let splices = vec![(other..line_end(line), Vec::new()), (at..line_end(at), Vec::new())];
            return Some(Mend { what, means: Means::Splices(splices) });
        }
        line = line_end(line);
    }
    None
}

fn comment_end(text: &[u8], at: usize) -> Option<usize> {
    if text[at..].starts_with(b"/*") {
        let end = text[at + 2..].windows(2).position(|pair| pair == b"*/")?;
        return Some(at + 2 + end + 2);
    }
    let is_comment = text[at] == b'#' || text[at..].starts_with(b"//");
    is_comment.then(|| text[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| at + end))
}

/// A text that ends in the middle is cut back to its last whole value, and what is open is closed.
fn torn(text: &[u8]) -> Option<Mend> {
    let (end, open) = last_whole(text)?;
    let closing: Vec<u8> = open.iter().rev().copied().chain(*b"\n").collect();
    let lost = text.len() - end;
    let brackets = String::from_utf8_lossy(closing.trim_ascii_end()).into_owned();
    let what = match lost {
        0 => format!("`{brackets}` is put in at the end"),
        _ => format!(
            "the last {lost} bytes, which are no whole value, are left out, and `{brackets}` is put in at the end"
        ),
    };
    Some(Mend { what, means: Means::Splices(vec![(end..text.len(), closing)]) })
}

/// Where the last whole value of a torn text ends, and what closes the containers around it.
///
/// The text is good up to its end, so its tokens are told apart by their first bytes. A number or a word at the very end may
/// have been longer.
fn last_whole(text: &[u8]) -> Option<(usize, Vec<u8>)> {
    let mut open: Vec<u8> = Vec::new();
    let mut whole = None;
    let mut at = 0;
    while at < text.len() {
        let is_value = match text[at] {
            b'{' => {
                open.push(b'}');
                false
            }
            b'[' => {
                open.push(b']');
                false
            }
            b'}' | b']' => {
                open.pop();
                true
            }
            b'"' => {
                let Some(end) = string_end(text, at) else { break };
                at = end - 1;
                let next = text[end..].trim_ascii_start().first();
                // What a colon follows is a key, and what nothing follows may be one.
                next != Some(&b':')
                    && (next.is_some() || open.last() == Some(&b']') || follows_colon(&text[..at]))
            }
            b',' | b':' => false,
            byte if byte.is_ascii_whitespace() => false,
            _ => {
                let is_bare = |byte: &u8| !matches!(byte, b',' | b'}' | b']') && !byte.is_ascii_whitespace();
                let length = text[at..].iter().take_while(|byte| is_bare(byte)).count();
                at += length - 1;
                at + 1 < text.len()
            }
        };
        at += 1;
        if is_value && !open.is_empty() {
            whole = Some((at, open.clone()));
        }
    }
    whole
}

/// Whether the string that ends behind `text` stands behind a colon.
fn follows_colon(text: &[u8]) -> bool {
    let mut end = text.len();
    while let Some(quote) = text[..end].iter().rposition(|&byte| byte == b'"') {
        let escapes = text[..quote].iter().rev().take_while(|&&byte| byte == b'\\').count();
        if escapes % 2 == 0 {
            return text[..quote].trim_ascii_end().last() == Some(&b':');
        }
        end = quote;
    }
    false
}

fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// A key that stands twice in its object.
#[derive(Debug)]
pub struct Twice {
    /// Its JSON pointer.
    pub pointer: String,
    /// The member that does not count, up to the next one.
    pub hidden: Range<usize>,
    /// Where the key stands again.
    pub again: usize,
}

/// The keys that stand twice, in objects at any depth; the last of equal ones counts.
pub fn twice(root: Value<'_>) -> Vec<Twice> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((pointer, value)) = open.pop() {
        for (index, element) in value.elements().enumerate() {
            if matches!(element.kind(), Kind::Object | Kind::Array) {
                open.push((format!("{pointer}/{index}"), element));
            }
        }
        let members: Vec<_> = value.members().collect();
        let mut last = HashMap::new();
        for (index, member) in members.iter().enumerate().rev() {
            let below = || format!("{pointer}/{}", pointer_token(&member.key.to_str()));
            if let Some(again) = last.get(&member.key.decoded()) {
                let hidden = member.key.span().start..members[index + 1].key.span().start;
                found.push(Twice { pointer: below(), hidden, again: *again });
                continue; // what does not count is looked at no closer
            }
            last.insert(member.key.decoded(), member.key.span().start);
            if matches!(member.value.kind(), Kind::Object | Kind::Array) {
                open.push((below(), member.value));
            }
        }
    }
    sort_by(&mut found, |a, b| a.hidden.start.cmp(&b.hidden.start));
    found
}

fn without_repetitions(document: Document, changes: &mut Vec<Change>) -> Option<Document> {
    let repeated = twice(document.root());
    if repeated.is_empty() {
        return Some(document);
    }
    for Twice { pointer, hidden, .. } in &repeated {
        let what = format!("an earlier value of {pointer} is left out: the last one counts");
        let (line, column) = document.line_column(hidden.start);
        changes.push(Change { at: Position { offset: hidden.start, line, column }, what });
    }
    let mut text = document.into_text();
    for Twice { hidden, .. } in repeated.into_iter().rev() {
        text.drain(hidden);
    }
    Document::parse(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repaired text and the changes, `offset what`; `None` when it cannot be repaired.
    fn repaired(text: impl AsRef<[u8]>) -> (Option<String>, Vec<String>) {
        let repaired = repair(text.as_ref());
        let changes =
            repaired.changes.iter().map(|change| format!("{} {}", change.at.offset, change.what)).collect();
        (repaired.document.map(|document| String::from_utf8(document.into_text()).unwrap()), changes)
    }

    #[test]
    fn accidents_are_mended() {
        for (text, good, changes) in [
            ("\u{feff}{}", "{}", &["0 the byte order mark is taken away"][..]),
            (
                "{\"a\":1}\n\0\0\0",
                "{\"a\":1}\n",
                &["8 3 NUL bytes are taken away; what stood in their place is lost"],
            ),
            ("{\"a\":1}\"b\":2}\n", "{\"a\":1}", &["7 7 bytes after the end are taken away"]),
            (
                "{\"a\":1}\n{\"a\":2}\n",
                "{\"a\":1}\n",
                &[
                    "8 8 bytes after the end are taken away; they are a document of their own: look which of the two is the newer",
                ],
            ),
            (
                "{\"a\":1\n \"b\":[1 2]}",
                "{\"a\":1,\n \"b\":[1, 2]}",
                &["8 a comma is put in", "15 a comma is put in"],
            ),
            ("{\"a\":[1,],}", "{\"a\":[1]}", &["7 the comma is taken away", "9 the comma is taken away"]),
            ("{\"a\" 1}", "{\"a\": 1}", &["5 a colon is put in"]),
            ("{\"a\":[1}", "{\"a\":[1]}", &["7 the missing `]` is put in"]),
            (
                "{\"a\":1, // one\n\"b\":2 /* two */}",
                "{\"a\":1, \n\"b\":2 }",
                &["8 the comment is taken away", "21 the comment is taken away"],
            ),
            (
                "{\"a\":True,\"b\":None}",
                "{\"a\":true,\"b\":null}",
                &["5 `True` is written as `true`", "14 `None` is written as `null`"],
            ),
            ("{\"a\":\"x\ty\"}", "{\"a\":\"x\\u0009y\"}", &["7 the control character is escaped"]),
            (
                "{\"a\":\"C:\\work\\u12\"}",
                "{\"a\":\"C:\\\\work\\\\u12\"}",
                &["9 the backslash is doubled", "17 the backslash is doubled"],
            ),
            (
                "{\n<<<<<<< HEAD\n\"a\":1\n||||||| base\n\"a\":0\n=======\n\"a\":2,\n\"b\":3\n>>>>>>> other\n}",
                "{\n\"a\":1\n}",
                &["2 the first side of the conflict is kept; the 5 lines of the rest of it are left out"],
            ),
            (
                "{\"a\":1,\"b\":{\"a\":1,\"\\u0061\":2},\"a\":3}",
                "{\"b\":{\"\\u0061\":2},\"a\":3}",
                &[
                    "1 an earlier value of /a is left out: the last one counts",
                    "12 an earlier value of /b/a is left out: the last one counts",
                ],
            ),
            (
                "{\"a\":{\"b\":1,\"b\":2},\"a\":3}",
                "{\"a\":3}",
                &["1 an earlier value of /a is left out: the last one counts"],
            ),
            ("{\"a\":1 \"a\":2}", "{\"a\":1, \"a\":2}", &["7 a comma is put in"]),
            ("{}", "{}", &[]),
        ] {
            let expected = changes.iter().map(|change| (*change).to_owned()).collect();
            assert_eq!(repaired(text), (Some(good.to_owned()), expected), "{text}");
        }
        let utf16: Vec<u8> = "\u{feff}{\"a\":\"é\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(repaired(utf16).0.as_deref(), Some("{\"a\":\"é\"}"));
        assert_eq!(repaired(b"{\"a\":\"\xff\"}").0.as_deref(), Some("{\"a\":\"\u{fffd}\"}"));
    }

    #[test]
    fn a_torn_text_is_cut_back_to_its_last_whole_value() {
        for (text, good) in [
            ("{\"a\":1,\"b\":2", "{\"a\":1}\n"),
            ("{\"a\":1,\"b\":2 ", "{\"a\":1,\"b\":2}\n"),
            ("{\"a\":1,\"b", "{\"a\":1}\n"),
            ("{\"a\":1,\"b\"", "{\"a\":1}\n"),
            ("{\"a\":1,\"b\":", "{\"a\":1}\n"),
            ("{\"a\":1,", "{\"a\":1}\n"),
            ("{\"a\":\"x\"", "{\"a\":\"x\"}\n"),
            ("{\"a\":\"x\\\"\"", "{\"a\":\"x\\\"\"}\n"),
            ("{\"a\":{\"b\":[1,\"x\"", "{\"a\":{\"b\":[1,\"x\"]}}\n"),
            ("{\"a\":{\"b\":[1,tr", "{\"a\":{\"b\":[1]}}\n"),
            ("{\"a\":[{\"b\":1},{\"c\":", "{\"a\":[{\"b\":1}]}\n"),
            ("{\"a\":{\"b\":1}", "{\"a\":{\"b\":1}}\n"),
            ("{\"a\":\"é", "{\"a\":\"é\"}\n"),
        ] {
            // The last is torn in its string, so nothing whole is left of it.
            let good = if text.ends_with('é') { None } else { Some(good.to_owned()) };
            assert_eq!(repaired(text).0, good, "{text}");
        }
        let (text, changes) = repaired("{\"a\":1,\"b\":\"");
        assert_eq!(text.as_deref(), Some("{\"a\":1}\n"));
        assert_eq!(
            changes,
            ["12 the last 6 bytes, which are no whole value, are left out, and `}` is put in at the end"]
        );
    }

    #[test]
    fn what_would_be_a_guess_is_left_to_people() {
        for text in [
            "",
            " ",
            "{",
            "{\"a",
            "[]",
            "null",
            "[1",
            "{\"a\": }",
            "{\"a\": <N>}",
            "{a:1}",
            "{'a':1}",
            "{\"a\":01}",
            "{\"a\"}",
            "{\"a\":\"one\ntwo\"}",
            "{\"a\":maybe}",
            "\0\0\0\0",
            "{\n=======\n}",
            "{\n<<<<<<< HEAD\n\"a\":1\n}",
            "{\"a\":1 /* b",
        ] {
            assert_eq!(repaired(text).0, None, "{text}");
        }
    }

    /// Cut anywhere, a document either has a whole value left or is left alone, and what is proposed is a document.
    #[test]
    fn wherever_a_document_is_cut_the_proposal_is_a_part_of_it() {
        let text = br#"{"currentPhase":4,"phases":{"0":{"status":"done","files":["a","b\"c"]},"4":[true,null,-1.5e3,{}]},"x":"\u00e9"}"#;
        for end in 1..text.len() {
            let Some(document) = repair(&text[..end]).document else { continue };
            assert!(document.root().members().count() >= 1);
            assert!(
                text.starts_with(
                    document.text().trim_ascii_end().strip_suffix(b"}").unwrap().trim_ascii_end()
                ) || document.text().len() <= end + 8
            );
        }
    }

    #[test]
    fn noise_is_no_panic_and_takes_no_time() {
        let mut random = fastrand::Rng::with_seed(3);
        let pieces: [&[u8]; 20] = [
            b"{",
            b"}",
            b"[",
            b"]",
            b"\"a\"",
            b":",
            b",",
            b"1",
            b"\\",
            b"\"",
            b"\0",
            b"\xff",
            b"//",
            b"/*",
            b"#",
            b"\n",
            b"True",
            b"<<<<<<<",
            b">>>>>>>\n",
            "\u{feff}".as_bytes(),
        ];
        for _ in 0..5_000 {
            let text: Vec<u8> = (0..random.usize(0..20))
                .flat_map(|_| pieces[random.usize(0..pieces.len())])
                .copied()
                .collect();
            let _ = repair(&text);
        }
        let _ = repair(&b"[".repeat(100_000));
        let _ = repair(&b"{\"a\":".repeat(20_000));
    }
}
