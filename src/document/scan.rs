//! The grammar of RFC 8259, exactly as `JSON.parse` has it (D3), checked in one pass.
//!
//! The scanner keeps nothing but a position and one bit per open bracket, on the heap: depth costs memory and never
//! the call stack. It says only where it stopped and what it wanted there; naming the fault is [`super::fault`]'s
//! work, so that none of it is paid for by good text.

use std::ops::Range;

use super::words::{self, plain_end, whitespace_end};

/// Where the scanner stopped, and what would have let it go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub at: usize,
    pub wanted: Wanted,
}

/// What the grammar wanted where the scanner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Value,
    Key,
    Colon,
    /// A comma or the bracket that closes the innermost container.
    CommaOr(u8),
    /// Nothing: the document is over.
    End,
    /// String content or its closing quote; the byte is a control character or the text is over.
    StringContent,
    /// One of the characters that may follow a backslash, or four hexadecimal digits.
    Escape,
    /// A digit of a number.
    Digit,
    /// The next letter of `true`, `false` or `null`.
    Letter,
}

/// Checks the whole text and returns where its root value stands.
///
/// The text need not be UTF-8: that is checked elsewhere, and bytes of 0x80 and above are only let through in strings.
pub(super) fn scan(text: &[u8]) -> Result<Range<usize>, Stop> {
    let start = whitespace_end(text, 0);
    let mut at = start;
    let (mut open, mut full) = (Nesting::default(), Vec::new());
    loop {
        // A value begins at `at`.
        at = match text.get(at) {
            Some(b'"') => string_end(text, at + 1)?,
            Some(b'{') => {
                at = whitespace_end(text, at + 1);
                if text.get(at) != Some(&b'}') {
                    at = key_end(text, at)?;
                    open.push(OBJECT, &mut full);
                    continue;
                }
                at + 1
            }
            Some(b'[') => {
                at = whitespace_end(text, at + 1);
                if text.get(at) != Some(&b']') {
                    open.push(ARRAY, &mut full);
                    continue;
                }
                at + 1
            }
            _ => bare_end(text, at)?,
        };
        // It ended there: close what closes, up to the next value.
        loop {
            let end = at;
            at = whitespace_end(text, at);
            if open.depth == 0 {
                return if at == text.len() { Ok(start..end) } else { stop(at, Wanted::End) };
            }
            let in_object = open.innermost() == OBJECT;
            match text.get(at) {
                Some(b',') => {
                    at = whitespace_end(text, at + 1);
                    if in_object {
                        at = key_end(text, at)?;
                    }
                    break;
                }
                Some(b'}') if in_object => at += 1,
                Some(b']') if !in_object => at += 1,
                _ => return stop(at, Wanted::CommaOr(if in_object { b'}' } else { b']' })),
            }
            open.pop(&mut full);
        }
    }
}

pub(super) const OBJECT: u64 = 1;
pub(super) const ARRAY: u64 = 0;

/// The open brackets: a bit each, the innermost lowest in `low`, full words of 64 moved to the heap.
///
/// The heap's part is handed in, for what is lent to an allocation cannot stay in registers.
#[derive(Default)]
pub(super) struct Nesting {
    low: u64,
    pub(super) depth: usize,
}

impl Nesting {
    #[inline(always)]
    pub(super) fn push(&mut self, kind: u64, full: &mut Vec<u64>) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            put_aside(self.low, full);
        }
        self.low = self.low << 1 | kind;
        self.depth += 1;
    }

    #[inline(always)]
    pub(super) fn innermost(&self) -> u64 {
        self.low & 1
    }

    #[inline(always)]
    pub(super) fn pop(&mut self, full: &mut Vec<u64>) {
        self.low >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.low = full.pop().unwrap_or_default();
        }
    }
}

#[cold]
fn put_aside(word: u64, full: &mut Vec<u64>) {
    full.push(word);
}

#[cold]
fn stop<T>(at: usize, wanted: Wanted) -> Result<T, Stop> {
    Err(Stop { at, wanted })
}

/// From where a key has to begin to where its value has to begin.
#[inline(always)]
fn key_end(text: &[u8], at: usize) -> Result<usize, Stop> {
    if text.get(at) != Some(&b'"') {
        return stop(at, Wanted::Key);
    }
    let at = whitespace_end(text, string_end(text, at + 1)?);
    if text.get(at) != Some(&b':') {
        return stop(at, Wanted::Colon);
    }
    Ok(whitespace_end(text, at + 1))
}

/// From behind a string's opening quote to behind its closing one.
#[inline(always)]
fn string_end(text: &[u8], at: usize) -> Result<usize, Stop> {
    let at = plain_end(text, at);
    if text.get(at) == Some(&b'"') { Ok(at + 1) } else { escaped_string_end(text, at) }
}

/// [`string_end`] from the first byte that is not plain content: a backslash in good text.
fn escaped_string_end(text: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        match text.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape_end(text, at + 1)?,
            _ => return stop(at, Wanted::StringContent),
        }
        at = plain_end(text, at);
    }
}

/// From behind a backslash to behind its escape. A surrogate need not have a partner (D3).
pub(super) fn escape_end(text: &[u8], at: usize) -> Result<usize, Stop> {
    match text.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            for digit in at + 1..at + 5 {
                if !text.get(digit).is_some_and(u8::is_ascii_hexdigit) {
                    return stop(digit, Wanted::Escape);
                }
            }
            Ok(at + 5)
        }
        _ => stop(at, Wanted::Escape),
    }
}

/// From a number's first byte to behind its last. How big it is does not matter: its text is its value (D2).
#[inline(always)]
fn number_end(text: &[u8], mut at: usize) -> Result<usize, Stop> {
    if text[at] == b'-' {
        at += 1;
    }
    at = if text.get(at) == Some(&b'0') { at + 1 } else { digits_end(text, at)? };
    if text.get(at) == Some(&b'.') {
        at = digits_end(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = text.get(at) {
            at += 1;
        }
        at = digits_end(text, at)?;
    }
    Ok(at)
}

/// Behind a run of at least one digit.
#[inline(always)]
fn digits_end(text: &[u8], start: usize) -> Result<usize, Stop> {
    let end = words::digits_end(text, start);
    if end == start { stop(end, Wanted::Digit) } else { Ok(end) }
}

/// Behind a number or a literal, whichever begins at `at`.
#[inline(always)]
pub(super) fn bare_end(text: &[u8], at: usize) -> Result<usize, Stop> {
    match text.get(at) {
        Some(b'0'..=b'9' | b'-') => number_end(text, at),
        Some(b't') => literal_end(text, at, b"true"),
        Some(b'f') => literal_end(text, at, b"false"),
        Some(b'n') => literal_end(text, at, b"null"),
        _ => stop(at, Wanted::Value),
    }
}

/// Behind a literal whose first letter stands at `at`.
#[inline(always)]
fn literal_end(text: &[u8], at: usize, literal: &'static [u8]) -> Result<usize, Stop> {
    if text[at..].starts_with(literal) {
        return Ok(at + literal.len());
    }
    let same = text[at..].iter().zip(literal).take_while(|(found, wanted)| found == wanted).count();
    stop(at + same, Wanted::Letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(text: &str) -> (usize, Wanted) {
        let stop = scan(text.as_bytes()).expect_err(text);
        (stop.at, stop.wanted)
    }

    #[test]
    fn what_json_parse_accepts_is_accepted() {
        for text in [
            "{}",
            " [ ] ",
            "0",
            "-0",
            "-0.0e-0",
            "1e400",
            "1E+2",
            "123456789012345678901234567890",
            "true",
            "false",
            "null",
            "\"\"",
            r#""\ud83d""#,
            r#""\udc00\ud800""#,
            r#""\u0000\"\\\/\b\f\n\r\t""#,
            "\"\u{7f}\u{2028}\"",
            "{\"\":{\"\":[]},\"\":[{}]}",
            "\r\n\t [1 , 2]\r\n\t ",
        ] {
            let root = scan(text.as_bytes()).unwrap_or_else(|stop| panic!("{text}: {stop:?}"));
            assert_eq!(&text[root], text.trim());
        }
    }

    #[test]
    fn the_scanner_stops_at_the_first_wrong_byte() {
        use Wanted::*;
        for (text, at, wanted) in [
            ("", 0, Value),
            (" ", 1, Value),
            ("[", 1, Value),
            ("[1,]", 3, Value),
            ("[,1]", 1, Value),
            ("{\"a\":}", 5, Value),
            ("+1", 0, Value),
            (".5", 0, Value),
            ("NaN", 0, Value),
            ("\u{b}1", 0, Value),
            ("\u{a0}1", 0, Value),
            ("\u{feff}1", 0, Value),
            ("{", 1, Key),
            ("{a:1}", 1, Key),
            ("{'a':1}", 1, Key),
            ("{\"a\":1,}", 7, Key),
            ("{1:1}", 1, Key),
            ("{\"a\" 1}", 5, Colon),
            ("{\"a\"}", 4, Colon),
            ("[1 2]", 3, CommaOr(b']')),
            ("[1", 2, CommaOr(b']')),
            ("[1}", 2, CommaOr(b']')),
            ("[01]", 2, CommaOr(b']')),
            ("{\"a\":1]", 6, CommaOr(b'}')),
            ("[\"a\"b]", 4, CommaOr(b']')),
            ("{}}", 2, End),
            ("1 2", 2, End),
            ("00", 1, End),
            ("truex", 4, End),
            ("1\u{c}", 1, End),
            ("\"a", 2, StringContent),
            ("\"\t\"", 1, StringContent),
            ("\"\u{0}\"", 1, StringContent),
            ("\"\\a\"", 2, Escape),
            ("\"\\u12g4\"", 5, Escape),
            ("\"\\U0041\"", 2, Escape),
            ("\"\\", 2, Escape),
            ("-", 1, Digit),
            ("-a", 1, Digit),
            ("1.", 2, Digit),
            ("1.e1", 2, Digit),
            ("1e", 2, Digit),
            ("1e+", 3, Digit),
            ("-.5", 1, Digit),
            ("tru", 3, Letter),
            ("nil", 1, Letter),
            ("falsE", 4, Letter),
        ] {
            assert_eq!(stops(text), (at, wanted), "{text:?}");
        }
    }

    #[test]
    fn depth_is_limited_by_memory_alone() {
        let deep = 1_000_000;
        assert!(scan(format!("{}{}", "[".repeat(deep), "]".repeat(deep)).as_bytes()).is_ok());
        assert!(scan(format!("{}1{}", "{\"a\":".repeat(deep), "}".repeat(deep)).as_bytes()).is_ok());
        assert!(scan(format!("{}{}", "[{\"a\":".repeat(deep), "[]}]".repeat(deep)).as_bytes()).is_err());
        assert!(scan(format!("{}[]{}", "[{\"a\":".repeat(deep), "}]".repeat(deep)).as_bytes()).is_ok());
        assert_eq!(stops(&"[".repeat(deep)), (deep, Wanted::Value));
    }

    #[test]
    fn every_bracket_is_closed_by_its_own_kind() {
        // Patterns that cross the 64 bits of a word in both directions.
        for depth in [1, 63, 64, 65, 127, 128, 129, 200] {
            let kinds: Vec<bool> = (0..depth).map(|level| level % 3 == 0).collect();
            let opened: String = kinds.iter().map(|&object| if object { "{\"a\":" } else { "[" }).collect();
            let close = |kinds: &[bool]| -> String {
                kinds.iter().rev().map(|&object| if object { '}' } else { ']' }).collect()
            };
            assert!(scan(format!("{opened}1{}", close(&kinds)).as_bytes()).is_ok());
            for wrong in 0..depth {
                let mut kinds = kinds.clone();
                kinds[wrong] = !kinds[wrong];
                assert!(scan(format!("{opened}1{}", close(&kinds)).as_bytes()).is_err(), "{depth} {wrong}");
            }
        }
    }
}
