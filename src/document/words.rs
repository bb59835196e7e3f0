//! Eight bytes at a time in plain integers: the searches that the scanner and the skipper spend their time in.
//!
//! All of them look for the first byte of a kind. The subtractions below borrow into *higher* bytes only, so a
//! false hit can only stand behind a true one, and the lowest hit is always right.

/// Every byte of the word is one.
pub(super) const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Every byte of the word is `byte`.
pub(super) const fn all(byte: u8) -> u64 {
    ONES * byte as u64
}

/// The eight bytes at `at`, the first one lowest; `None` near the end of the text.
#[inline(always)]
fn word_at(text: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*text.get(at..)?.first_chunk()?))
}

/// The index of the lowest marked byte of a word that has one.
#[inline(always)]
fn first_marked(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// The first byte from `at` on that ends a run of plain string content: `"`, `\` or a control character; the
/// text's length when there is none.
#[inline(always)]
pub(super) fn plain_end(text: &[u8], mut at: usize) -> usize {
    while let Some(word) = word_at(text, at) {
        let quote = (word ^ all(b'"')).wrapping_sub(ONES);
        let backslash = (word ^ all(b'\\')).wrapping_sub(ONES);
        let control = word.wrapping_sub(all(b' '));
        // The three differ from `word` in low bits only, so bytes of 0x80 and above are cleared for all at once.
        let marks = (quote | backslash | control) & !word & HIGHS;
        if marks != 0 {
            return at + first_marked(marks);
        }
        at += 8;
    }
    while at < text.len() && !matches!(text[at], b'"' | b'\\' | 0..b' ') {
        at += 1;
    }
    at
}

/// The first byte from `at` on that is no white space of JSON; the text's length when there is none.
#[inline(always)]
pub(crate) fn whitespace_end(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b' ' | b'\n' | b'\r' | b'\t') => gap_end(text, at + 1),
        _ => at,
    }
}

/// [`whitespace_end`] of a gap whose first byte has been seen: mostly a line break and the indentation after it.
#[inline(always)]
fn gap_end(text: &[u8], mut at: usize) -> usize {
    loop {
        while let Some(word) = word_at(text, at) {
            let other = word ^ all(b' ');
            if other != 0 {
                at += first_marked(other);
                break;
            }
            at += 8;
        }
        match text.get(at) {
            Some(b' ' | b'\n' | b'\r' | b'\t') => at += 1,
            _ => return at,
        }
    }
}

/// The first byte from `at` on that is no digit; the text's length when there is none.
#[inline(always)]
pub(super) fn digits_end(text: &[u8], mut at: usize) -> usize {
    while let Some(word) = word_at(text, at) {
        // What is no digit is 10 or more now, which 0x76 more carries into the highest bit, and no further.
        let digits = word ^ all(b'0');
        let marks = (((digits & !HIGHS) + all(0x76)) | digits) & HIGHS;
        if marks != 0 {
            return at + first_marked(marks);
        }
        at += 8;
    }
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_classified_the_same_in_a_word_and_at_the_end() {
        for byte in 0..=255u8 {
            for place in 0..24 {
                let mut text = vec![b'a'; 24];
                text[place] = byte;
                let plain = !matches!(byte, b'"' | b'\\' | 0..b' ');
                assert_eq!(plain_end(&text, 0), if plain { 24 } else { place }, "{byte} at {place}");

                let mut text = vec![b' '; 24];
                text[place] = byte;
                let white = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
                assert_eq!(whitespace_end(&text, 0), if white { 24 } else { place }, "{byte} at {place}");

                let mut text = vec![b'0'; 24];
                text[place] = byte;
                let digit = byte.is_ascii_digit();
                assert_eq!(digits_end(&text, 0), if digit { 24 } else { place }, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn a_false_hit_never_precedes_the_true_one() {
        // 0x01 above a hit is what a borrow turns into a false one.
        for second in [0x01, 0x21, 0x23, 0x5d, 0x80, 0xff] {
            assert_eq!(plain_end(&[b'a', b'"', second, b'a', b'a', b'a', b'a', b'a'], 0), 1);
        }
    }
}
