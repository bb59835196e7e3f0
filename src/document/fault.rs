//! What is wrong with a text that is not JSON, named as what it is (V2), and where.
//!
//! The scanner only says where it stopped. Everything here runs after that, on the failing path, and looks at the
//! bytes around the stop for the accident that made them: a torn write, a padded block, a merge, a byte order mark.

use std::fmt;

use super::scan::{Stop, Wanted};
use super::words::whitespace_end;

/// Why a text is not one JSON value in UTF-8 (D3, D4), and where that shows first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Bytes before the fault.
    pub offset: usize,
    /// Line of the fault, from 1; a line ends at its line feed.
    pub line: usize,
    /// Column of the fault, from 1, in characters.
    pub column: usize,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// The accidents that a text which does not parse is told apart by (V2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// No bytes, or nothing but white space.
    Empty,
    /// The text begins with a UTF-8 byte order mark (D4).
    ByteOrderMark,
    /// The text is UTF-16, by its byte order mark or by a NUL in every other byte.
    Utf16,
    /// A run of NUL bytes where text should be: a block that a crash left unwritten.
    NulPadding {
        /// How long the run is.
        count: usize,
    },
    /// A line begins with `<<<<<<<`, `|||||||`, `=======` or `>>>>>>>`.
    ConflictMarker,
    /// The text ends in the middle of its value.
    Torn,
    /// The value is complete, and more follows.
    TrailingBytes {
        /// How many bytes follow, from the first that is no white space.
        count: usize,
    },
    /// A member or an element follows another without a comma.
    MissingComma,
    /// A comma stands before a closing bracket.
    TrailingComma,
    /// A key is not followed by a colon.
    MissingColon,
    /// A container is closed by the other kind's bracket.
    WrongBracket {
        /// The bracket that stands there.
        found: char,
        /// The bracket that would close the container.
        wanted: char,
    },
    /// A string in single quotes.
    SingleQuotes,
    /// A key without quotes.
    UnquotedKey,
    /// A comment of another language.
    Comment,
    /// A bare word that is not `true`, `false` or `null`: `True`, `NaN`, `undefined`.
    UnknownWord(String),
    /// A number that JSON does not write so: `01`, `+1`, `.5`, `1.`, `0x1F`.
    BadNumber,
    /// A backslash that begins no escape.
    BadEscape,
    /// A control character, bare, in a string.
    ControlCharacter(u8),
    /// A byte that is not UTF-8.
    InvalidUtf8(u8),
    /// Any other character that cannot stand there.
    Unexpected {
        /// The character.
        found: char,
        /// What the grammar wanted instead.
        wanted: &'static str,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { offset, line, column, kind } = self;
        match kind {
            FaultKind::Empty => f.write_str("it is empty"),
            FaultKind::Utf16 => f.write_str("it is UTF-16, and JSON here is UTF-8"),
            FaultKind::ByteOrderMark => write!(f, "{kind} (byte {offset})"),
            _ => {
                write!(f, "{kind} at line {line}, column {column} (byte {offset})")?;
                match kind.likely_cause() {
                    Some(cause) => write!(f, ": {cause}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Empty => f.write_str("no text"),
            FaultKind::ByteOrderMark => f.write_str("a byte order mark at the start"),
            FaultKind::Utf16 => f.write_str("UTF-16"),
            FaultKind::NulPadding { count: 1 } => f.write_str("a NUL byte"),
            FaultKind::NulPadding { count } => write!(f, "a run of {count} NUL bytes"),
            FaultKind::ConflictMarker => f.write_str("a merge-conflict marker"),
            FaultKind::Torn => f.write_str("unexpected end of the text"),
            FaultKind::TrailingBytes { count: 1 } => f.write_str("a byte after the end of the document"),
            FaultKind::TrailingBytes { count } => write!(f, "{count} bytes after the end of the document"),
            FaultKind::MissingComma => f.write_str("a missing comma"),
            FaultKind::TrailingComma => f.write_str("a trailing comma"),
            FaultKind::MissingColon => f.write_str("a missing colon"),
            FaultKind::WrongBracket { found, wanted } => write!(f, "`{found}` instead of `{wanted}`"),
            FaultKind::SingleQuotes => f.write_str("a string in single quotes"),
            FaultKind::UnquotedKey => f.write_str("a key without quotes"),
            FaultKind::Comment => f.write_str("a comment"),
            FaultKind::UnknownWord(word) => write!(f, "the unknown word `{word}`"),
            FaultKind::BadNumber => f.write_str("a malformed number"),
            FaultKind::BadEscape => f.write_str("a bad escape in a string"),
            FaultKind::ControlCharacter(byte) => {
                write!(f, "a bare {} (U+{byte:04X}) in a string", control_name(*byte))
            }
            FaultKind::InvalidUtf8(byte) => write!(f, "a byte that is not UTF-8 (0x{byte:02X})"),
            FaultKind::Unexpected { found, wanted } => {
                write!(f, "`{}` instead of {wanted}", found.escape_debug())
            }
        }
    }
}

impl FaultKind {
    /// What such a text comes from, where it is not plain from the name.
    fn likely_cause(&self) -> Option<&'static str> {
        match self {
            FaultKind::Torn => Some("it is torn"),
            FaultKind::NulPadding { .. } => Some("what a crash leaves where nothing was written"),
            FaultKind::ConflictMarker => Some("a merge was left unresolved"),
            FaultKind::ControlCharacter(b'\n' | b'\r') => {
                Some("a closing quote is missing, or a `\\n` was meant")
            }
            _ => None,
        }
    }
}

fn control_name(byte: u8) -> &'static str {
    match byte {
        0 => "NUL",
        b'\t' => "tab",
        b'\n' => "line feed",
        b'\r' => "carriage return",
        0x1b => "escape character",
        _ => "control character",
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Drops one byte order mark from the start of what was handed in on stdin, where PowerShell pipes add it (D4).
///
/// Not for state files: there a mark is corruption, and [`super::Document::parse`] says so.
pub fn drop_bom(mut text: Vec<u8>) -> Vec<u8> {
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len());
    }
    text
}

/// Line and column of an offset, both from 1; columns count characters.
pub(crate) fn line_column(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let is_character_start = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
    (line, 1 + before[line_start..].iter().filter(is_character_start).count())
}

/// Names what is wrong with a text that is not UTF-8 or at which the scanner stopped.
pub(super) fn diagnose(text: &[u8], stop: Option<Stop>) -> Fault {
    let (valid, broken) = match std::str::from_utf8(text) {
        Ok(valid) => (valid, None),
        // The first fault counts: noise is noise from its first byte, not from the first that is no UTF-8.
        Err(error) => (std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default(), Some(error)),
    };
    let (offset, kind) = match (stop, broken) {
        _ if is_utf16(text) => (0, FaultKind::Utf16),
        (Some(stop), _) if stop.at < valid.len() || broken.is_none() => name(valid, stop),
        (_, Some(error)) if error.error_len().is_some() => {
            (valid.len(), FaultKind::InvalidUtf8(text[valid.len()]))
        }
        // The end cuts a character in two.
        _ => (text.len(), FaultKind::Torn),
    };
    let (line, column) = line_column(text, offset);
    Fault { offset, line, column, kind }
}

/// JSON begins with two ASCII characters, so UTF-16 has a NUL in one of its first two bytes and not in the other.
fn is_utf16(text: &[u8]) -> bool {
    match text {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [0, a, 0, b, ..] | [a, 0, b, 0, ..] => *a != 0 && *b != 0,
        _ => false,
    }
}

/// Names a stop and puts it where its reader has to look.
fn name(text: &str, stop: Stop) -> (usize, FaultKind) {
    let Stop { at, wanted } = stop;
    let bytes = text.as_bytes();
    let Some(found) = text[at..].chars().next() else {
        let empty = whitespace_end(bytes, 0) == bytes.len();
        return if empty { (0, FaultKind::Empty) } else { (at, FaultKind::Torn) };
    };
    if let Some(kind) = accident(bytes, at, wanted) {
        return (at, kind);
    }
    match wanted {
        Wanted::Escape => (at, FaultKind::BadEscape),
        Wanted::StringContent => (at, FaultKind::ControlCharacter(bytes[at])),
        Wanted::Digit => (at, FaultKind::BadNumber),
        Wanted::Letter => unknown_word(text, at),
        Wanted::Colon => (at, FaultKind::MissingColon),
        Wanted::Value | Wanted::Key => instead_of_item(text, at, found, wanted),
        Wanted::CommaOr(_) | Wanted::End => instead_of_comma(text, at, found, wanted),
    }
}

/// The accidents that happen to files rather than to their authors, wherever in the grammar they strike.
fn accident(text: &[u8], at: usize, wanted: Wanted) -> Option<FaultKind> {
    let rest = &text[at..];
    if at == 0 && rest.starts_with(BYTE_ORDER_MARK) {
        return Some(FaultKind::ByteOrderMark);
    }
    let count = rest.iter().take_while(|&&byte| byte == 0).count();
    // A lone NUL in a string is somebody's data, badly escaped; a run of them is a lost block.
    let in_string = matches!(wanted, Wanted::StringContent | Wanted::Escape);
    if count > 1 || count == 1 && !in_string {
        return Some(FaultKind::NulPadding { count });
    }
    let at_line_start = at == 0 || text[at - 1] == b'\n';
    let markers: [&[u8]; 4] = [b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>"];
    (at_line_start && markers.iter().any(|marker| rest.starts_with(marker)))
        .then_some(FaultKind::ConflictMarker)
}

/// What stands where a key or a value should begin.
fn instead_of_item(text: &str, at: usize, found: char, wanted: Wanted) -> (usize, FaultKind) {
    let before = text[..at].trim_end_matches([' ', '\t', '\n', '\r']);
    let kind = match found {
        '}' | ']' if before.ends_with(',') => return (before.len() - 1, FaultKind::TrailingComma),
        '\'' => FaultKind::SingleQuotes,
        '/' | '#' => FaultKind::Comment,
        _ if is_word(found) && wanted == Wanted::Key => FaultKind::UnquotedKey,
        '+' | '.' => FaultKind::BadNumber,
        _ if is_word(found) => return unknown_word(text, at),
        _ if wanted == Wanted::Key => FaultKind::Unexpected { found, wanted: "a key" },
        _ => FaultKind::Unexpected { found, wanted: "a value" },
    };
    (at, kind)
}

/// What stands behind a complete value where a comma, a closing bracket or the end should be.
fn instead_of_comma(text: &str, at: usize, found: char, wanted: Wanted) -> (usize, FaultKind) {
    let glued = text[..at].ends_with(is_word) && (is_word(found) || matches!(found, '.' | '+' | '-'));
    if glued {
        let start = word_start(text, at);
        let is_number = text[start..].starts_with(|first: char| first.is_ascii_digit());
        return if is_number { (at, FaultKind::BadNumber) } else { unknown_word(text, at) };
    }
    let Wanted::CommaOr(close) = wanted else {
        return (at, FaultKind::TrailingBytes { count: text.len() - at });
    };
    let kind = match found {
        '}' | ']' => FaultKind::WrongBracket { found, wanted: char::from(close) },
        '/' | '#' => FaultKind::Comment,
        '"' | '\'' | '{' | '[' | '-' => FaultKind::MissingComma,
        _ if is_word(found) => FaultKind::MissingComma,
        _ if close == b'}' => FaultKind::Unexpected { found, wanted: "a comma or `}`" },
        _ => FaultKind::Unexpected { found, wanted: "a comma or `]`" },
    };
    (at, kind)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// Where the word begins that `at` stands in or right behind.
fn word_start(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches(is_word).len()
}

/// The word around `at`, no more of it than a message can carry.
fn unknown_word(text: &str, at: usize) -> (usize, FaultKind) {
    const LONGEST: usize = 20;
    let start = word_start(text, at);
    let word = text[start..].chars().take_while(|&character| is_word(character)).take(LONGEST).collect();
    (start, FaultKind::UnknownWord(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn fault(text: impl AsRef<[u8]>) -> Fault {
        let text = text.as_ref();
        Document::parse(text.to_vec())
            .err()
            .unwrap_or_else(|| panic!("{:?} parses", String::from_utf8_lossy(text)))
    }

    #[test]
    fn corruption_is_named_as_what_it_is() {
        use FaultKind::*;
        let word = |word: &str| UnknownWord(word.to_owned());
        for (text, offset, kind) in [
            ("", 0, Empty),
            (" \n\t", 0, Empty),
            ("\u{feff}{}", 0, ByteOrderMark),
            ("\0\0\0\0", 0, NulPadding { count: 4 }),
            ("{}\n\0\0\0", 3, NulPadding { count: 3 }),
            ("{\"a\":\0}", 5, NulPadding { count: 1 }),
            ("{\"a\":\"x\0\0\0\"}", 7, NulPadding { count: 3 }),
            ("{\"a\":\"x\0y\"}", 7, ControlCharacter(0)),
            ("{\"a\":\"x\\\0y\"}", 8, BadEscape),
            ("{\n<<<<<<< HEAD\n\"a\":1\n=======\n\"a\":2\n>>>>>>> x\n}", 2, ConflictMarker),
            ("{\"a\":1\n<<<<<<< HEAD\n}", 7, ConflictMarker),
            ("{\"a\":1\n=======\n}", 7, ConflictMarker),
            (">>>>>>> x\n{}", 0, ConflictMarker),
            ("{\"a\":1", 6, Torn),
            ("{\"a", 3, Torn),
            ("{\"a\":\"\\u12", 10, Torn),
            ("{\"a\":tr", 7, Torn),
            ("{\"a\":-", 6, Torn),
            ("{\"a\":1}}", 7, TrailingBytes { count: 1 }),
            ("{}\n{} \n", 3, TrailingBytes { count: 4 }),
            ("{\"a\":1\n\"b\":2}", 7, MissingComma),
            ("[1 2]", 3, MissingComma),
            ("[\"a\"b\"]", 4, MissingComma),
            ("{\"a\":1,\n}", 6, TrailingComma),
            ("[1 , ]", 3, TrailingComma),
            ("{\"a\" 1}", 5, MissingColon),
            ("{\"a\":1]", 6, WrongBracket { found: ']', wanted: '}' }),
            ("[1}", 2, WrongBracket { found: '}', wanted: ']' }),
            ("{'a':1}", 1, SingleQuotes),
            ("{\"a\":'x'}", 5, SingleQuotes),
            ("{a:1}", 1, UnquotedKey),
            ("{1:1}", 1, UnquotedKey),
            ("{// x\n}", 1, Comment),
            ("{\"a\":1 /* x */}", 7, Comment),
            ("{\"a\":True}", 5, word("True")),
            ("[NaN]", 1, word("NaN")),
            ("[nul]", 1, word("nul")),
            ("[nullx]", 1, word("nullx")),
            ("[01]", 2, BadNumber),
            ("[+1]", 1, BadNumber),
            ("[.5]", 1, BadNumber),
            ("[1.]", 3, BadNumber),
            ("[0x1F]", 2, BadNumber),
            ("[1_000]", 2, BadNumber),
            ("[1.5.2]", 4, BadNumber),
            ("[\"\\x\"]", 3, BadEscape),
            ("[\"\\u12g4\"]", 6, BadEscape),
            ("[\"a\nb\"]", 3, ControlCharacter(b'\n')),
            ("[\"a\tb\"]", 3, ControlCharacter(b'\t')),
            ("[\u{a0}]", 1, Unexpected { found: '\u{a0}', wanted: "a value" }),
            ("{\"a\": {{HOLE}}}", 7, Unexpected { found: '{', wanted: "a key" }),
            ("[1,,2]", 3, Unexpected { found: ',', wanted: "a value" }),
            ("{\"a\":1;}", 6, Unexpected { found: ';', wanted: "a comma or `}`" }),
            ("noise", 0, word("noise")),
        ] {
            let found = fault(text);
            assert_eq!((found.offset, found.kind), (offset, kind), "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_corruption_unless_the_text_fails_before_them() {
        use FaultKind::*;
        for (text, offset, kind) in [
            (&b"{\"a\":\"\xff\"}"[..], 6, InvalidUtf8(0xff)),
            (b"{\"a\":\"\xed\xa0\x80\"}", 6, InvalidUtf8(0xed)),
            (b"{}\xc0\xaf", 2, InvalidUtf8(0xc0)),
            (b"[1 2 \"\xff\"]", 3, MissingComma),
            (b"{\"a\":\"\xe2\x82", 8, Torn),
            (b"\xff\xfe{\0}\0", 0, Utf16),
            (b"{\0}\0\r\0\n\0", 0, Utf16),
            (b"\0{\0}", 0, Utf16),
            (b"\xbe\xef\xde\xad", 0, InvalidUtf8(0xbe)),
            ("\u{7ad}\u{1}".as_bytes(), 0, UnknownWord("\u{7ad}".to_owned())),
        ] {
            let found = fault(text);
            assert_eq!((found.offset, found.kind), (offset, kind), "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_fault_says_what_where_and_why_in_one_line() {
        for (text, message) in [
            ("", "it is empty"),
            ("\u{feff}{}", "a byte order mark at the start (byte 0)"),
            ("{\0}\0", "it is UTF-16, and JSON here is UTF-8"),
            (
                "{\n  \"é\": \"€\",\n  \"b\": 1",
                "unexpected end of the text at line 3, column 9 (byte 25): it is torn",
            ),
            ("{\n  \"é\": \"€\" \"b\"", "a missing comma at line 2, column 12 (byte 16)"),
            (
                "{}\n\0\0\0",
                "a run of 3 NUL bytes at line 2, column 1 (byte 3): what a crash leaves where nothing was written",
            ),
            (
                "{\r\n=======",
                "a merge-conflict marker at line 2, column 1 (byte 3): a merge was left unresolved",
            ),
            (
                "{\"a\":\"b\n\"}",
                "a bare line feed (U+000A) in a string at line 1, column 8 (byte 7): \
                 a closing quote is missing, or a `\\n` was meant",
            ),
            ("{\"a\":1}}", "a byte after the end of the document at line 1, column 8 (byte 7)"),
            ("[\u{1b}]", "`\\u{1b}` instead of a value at line 1, column 2 (byte 1)"),
            ("[None]", "the unknown word `None` at line 1, column 2 (byte 1)"),
        ] {
            assert_eq!(fault(text).to_string(), message);
        }
    }

    #[test]
    fn one_byte_order_mark_is_dropped_from_stdin() {
        assert_eq!(drop_bom("\u{feff}{}".into()), b"{}");
        assert_eq!(drop_bom("\u{feff}\u{feff}{}".into()), "\u{feff}{}".as_bytes());
        assert_eq!(drop_bom("{}".into()), b"{}");
        assert_eq!(drop_bom(vec![0xef, 0xbb]), [0xef, 0xbb]);
    }
}
