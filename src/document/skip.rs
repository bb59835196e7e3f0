//! Passing a container of validated text without looking at what is in it: only brackets outside of strings count.

use std::ops::Range;

use super::block::{self, BLOCK, Lanes, Pass, block_at};
use super::strings::Strings;

/// How many bytes a container has whose end is worth remembering: to skip fewer takes a few microseconds.
pub(super) const LONG: usize = 16 << 10;

/// Behind the bracket that closes the container which opens at `open`. The remembered ones are in order.
pub(super) fn container_end(text: &[u8], open: usize, remembered: &[Range<usize>]) -> usize {
    match remembered.binary_search_by_key(&open, |container| container.start) {
        Ok(place) => remembered[place].end,
        Err(_) => block::run(ContainerEnd { text, open }),
    }
}

#[derive(Clone)]
struct ContainerEnd<'t> {
    text: &'t [u8],
    open: usize,
}

impl Pass for ContainerEnd<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self, lanes: impl Lanes) -> usize {
        let mut at = self.open;
        let mut strings = Strings::default();
        let mut depth = 0;
        loop {
            let marks = lanes.marks(&block_at(self.text, at));
            let inside = strings.pass(lanes, &marks).inside;
            let opening = marks.opening & !inside;
            let closing = marks.closing & !inside;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn container_end(text: &[u8], open: usize) -> usize {
        block::run_on_all(ContainerEnd { text, open })
    }

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
