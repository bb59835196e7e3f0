//! Passing a container of validated text without looking at what is in it: only brackets outside of strings count.

use super::block::{BLOCK, Marks, marks};

/// Behind the bracket that closes the container which opens at `open`.
pub(super) fn container_end(text: &[u8], open: usize) -> usize {
    let mut at = open;
    let mut strings = Strings::default();
    let mut depth = 0;
    loop {
        let marks = marks(&block_at(text, at));
        let in_string = strings.pass(&marks);
        let opening = marks.opening & !in_string;
        let closing = marks.closing & !in_string;
        let closes = closing.count_ones() as usize;
        if closes >= depth
            && let Some(last) = last_closing(opening, closing, depth)
        {
            return at + last + 1;
        }
        depth = depth + opening.count_ones() as usize - closes;
        at += BLOCK;
    }
}

/// The block at `at`, filled up with spaces at the end of the text.
#[inline(always)]
fn block_at(text: &[u8], at: usize) -> [u8; BLOCK] {
    let rest = &text[at..];
    match rest.first_chunk() {
        Some(block) => *block,
        None => {
            let mut block = [b' '; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            block
        }
    }
}

/// The place in a block of the bracket that closes the outermost of `depth` containers, if it is there.
fn last_closing(opening: u64, mut closing: u64, depth: usize) -> Option<usize> {
    let mut closed = 0;
    while closing != 0 {
        closed += 1;
        let bit = closing & closing.wrapping_neg();
        let opened = (opening & (bit - 1)).count_ones() as usize;
        if depth + opened == closed {
            return Some(bit.trailing_zeros() as usize);
        }
        closing ^= bit;
    }
    None
}

/// What has to be known of the blocks before to tell where strings begin and end.
#[derive(Default)]
struct Strings {
    /// All ones when the next block begins inside of a string.
    open: u64,
    /// One when the next block's first byte is escaped by a backslash before it.
    escaped: u64,
}

impl Strings {
    /// Which bytes of the next block lie in a string; a string's opening quote counts as inside, its closing one not.
    #[inline(always)]
    fn pass(&mut self, marks: &Marks) -> u64 {
        let escaped =
            if marks.backslashes | self.escaped == 0 { 0 } else { self.escaped_bytes(marks.backslashes) };
        let in_string = parity_up_to(marks.quotes & !escaped) ^ self.open;
        self.open = (in_string.cast_signed() >> 63).cast_unsigned();
        in_string
    }

    /// Which bytes of the next block a backslash escapes.
    fn escaped_bytes(&mut self, backslashes: u64) -> u64 {
        let mut escaped = self.escaped;
        let mut escaping = backslashes & !escaped;
        self.escaped = 0;
        while escaping != 0 {
            let bit = escaping & escaping.wrapping_neg();
            // The last byte's backslash escapes the first byte of the block behind.
            self.escaped = bit >> 63;
            escaped |= bit << 1;
            // A backslash that is escaped itself escapes nothing.
            escaping &= !(bit | bit << 1);
        }
        escaped
    }
}

/// Each bit becomes the parity of itself and all lower ones: ones from each opening quote up to its closing one.
#[inline(always)]
fn parity_up_to(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn a_container_ends_where_its_own_bracket_closes_it() {
        let inner = [
            "",
            "1",
            "[]",
            "{}",
            r#""]""#,
            r#""}{[""#,
            r#""\\""#,
            r#""\"]""#,
            r#""\\\"}""#,
            r#"["\\", "\"", {"a]": "[\\"}]"#,
            r#""\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"]""#,
        ];
        for inner in inner {
            // Every position relative to the blocks, with more containers behind.
            for before in 0..2 * BLOCK {
                let text = format!("[{}{inner} ]", " ".repeat(before));
                assert!(Document::parse(text.clone().into_bytes()).is_ok(), "{text}");
                assert_eq!(container_end(text.as_bytes(), 0), text.len(), "{text}");
                let more = format!("{text}]}}, {{\"a\": []}}]{}", " ".repeat(BLOCK));
                assert_eq!(container_end(more.as_bytes(), 0), text.len(), "{more}");
                let string = format!("[\"{}\", {inner}]", "x".repeat(before));
                assert_eq!(container_end(string.as_bytes(), 0), string.len(), "{string}");
            }
        }
    }

    #[test]
    fn depth_takes_no_stack() {
        let depth = 1_000_000;
        let text = format!("{}{}{}", "[{\"a\":".repeat(depth), "[]", "}]".repeat(depth));
        assert_eq!(container_end(text.as_bytes(), 0), text.len());
    }
}
