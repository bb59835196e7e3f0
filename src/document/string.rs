//! What a string token stands for: its escapes decoded.

use std::borrow::Cow;

use super::words::plain_end;

/// What becomes of a `\ud800`…`\udfff` without its partner, which no UTF-8 can express.
#[derive(Clone, Copy)]
enum LoneSurrogate {
    /// U+FFFD.
    Replaced,
    /// Its own three bytes, as WTF-8 has it.
    Kept,
}

/// Decodes a string token's content (without its quotes) for comparing: to WTF-8, so that two different lone
/// surrogates stay different (D2). Borrows when there is no escape to decode.
pub(super) fn decode(content: &[u8]) -> Cow<'_, [u8]> {
    decode_with(content, LoneSurrogate::Kept)
}

/// Decodes a string token's content for reading: a lone surrogate becomes U+FFFD.
pub(super) fn decode_lossily(content: &[u8]) -> Cow<'_, str> {
    match decode_with(content, LoneSurrogate::Replaced) {
        Cow::Borrowed(content) => String::from_utf8_lossy(content),
        Cow::Owned(content) => Cow::Owned(String::from_utf8_lossy(&content).into_owned()),
    }
}

fn decode_with(content: &[u8], lone: LoneSurrogate) -> Cow<'_, [u8]> {
    let plain = plain_end(content, 0);
    if plain == content.len() {
        return Cow::Borrowed(content);
    }
    let mut decoded = Vec::with_capacity(content.len());
    decoded.extend_from_slice(&content[..plain]);
    let mut at = plain;
    while at < content.len() {
        at = decode_escape(content, at + 1, lone, &mut decoded);
        let plain = plain_end(content, at);
        decoded.extend_from_slice(&content[at..plain]);
        at = plain;
    }
    Cow::Owned(decoded)
}

/// Decodes the escape behind the backslash before `at` and returns where it ends.
fn decode_escape(content: &[u8], at: usize, lone: LoneSurrogate, decoded: &mut Vec<u8>) -> usize {
    let byte = match content[at] {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return decode_unit(content, at + 1, lone, decoded),
        itself => itself,
    };
    decoded.push(byte);
    at + 1
}

/// Decodes the UTF-16 code unit whose digits begin at `at`, together with the second half of its pair if it has one.
fn decode_unit(content: &[u8], at: usize, lone: LoneSurrogate, decoded: &mut Vec<u8>) -> usize {
    let (first, end) = (code_unit(content, at), at + 4);
    if (0xd800..0xdc00).contains(&first) && content[end..].starts_with(b"\\u") {
        let second = code_unit(content, end + 2);
        if (0xdc00..0xe000).contains(&second) {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            push_character(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), decoded);
            return end + 6;
        }
    }
    match (char::from_u32(first), lone) {
        (Some(character), _) => push_character(character, decoded),
        (None, LoneSurrogate::Replaced) => push_character(char::REPLACEMENT_CHARACTER, decoded),
        (None, LoneSurrogate::Kept) => {
            decoded.extend([0xed, 0x80 | (first >> 6 & 0x3f) as u8, 0x80 | (first & 0x3f) as u8]);
        }
    }
    end
}

fn push_character(character: char, decoded: &mut Vec<u8>) {
    decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The four hexadecimal digits at `at`, which the scanner has seen.
fn code_unit(content: &[u8], at: usize) -> u32 {
    content[at..at + 4].iter().fold(0, |unit, &digit| unit << 4 | char::from(digit).to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_the_characters_they_stand_for() {
        for (content, expected) in [
            ("", ""),
            ("plain é 😀", "plain é 😀"),
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"a\u0041b\u00e9c\u20AC\u0000", "aAbéc€\0"),
            (r"\ud83d\ude00", "😀"),
            (r"\uD83D\uDE00x", "😀x"),
        ] {
            assert_eq!(decode_lossily(content.as_bytes()), expected);
            assert_eq!(decode(content.as_bytes()).as_ref(), expected.as_bytes());
        }
    }

    #[test]
    fn a_lone_surrogate_is_replaced_for_readers_and_kept_for_comparing() {
        for (content, replaced, kept) in [
            (r"\ud83d", "\u{fffd}".to_owned(), &b"\xed\xa0\xbd"[..]),
            (r"\udc00", "\u{fffd}".to_owned(), b"\xed\xb0\x80"),
            (r"\udfff\ud800", "\u{fffd}\u{fffd}".to_owned(), b"\xed\xbf\xbf\xed\xa0\x80"),
            (r"\ud83dx", "\u{fffd}x".to_owned(), b"\xed\xa0\xbdx"),
            (r"\ud83d\n", "\u{fffd}\n".to_owned(), b"\xed\xa0\xbd\n"),
            (r"\ud83d\ud83d\ude00", "\u{fffd}😀".to_owned(), b"\xed\xa0\xbd\xf0\x9f\x98\x80"),
        ] {
            assert_eq!(decode_lossily(content.as_bytes()), replaced);
            assert_eq!(decode(content.as_bytes()).as_ref(), kept, "{content}");
        }
    }
}
