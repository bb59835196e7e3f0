//! [`Lanes`] in plain integers, eight bytes at a time.

use super::super::words::{ONES, all};
use super::{BLOCK, Lanes, Marks};

/// What every processor has.
#[derive(Clone, Copy)]
pub(in super::super) struct Portable;

impl Lanes for Portable {
    #[inline(always)]
    fn marks(self, block: &[u8; BLOCK]) -> Marks {
        let mut marks = Marks::default();
        for (place, eight) in block.as_chunks().0.iter().enumerate() {
            let word = u64::from_le_bytes(*eight);
            // `[` and `{`, `]` and `}` differ in the bit of 0x20 alone.
            let folded = word | all(0x20);
            let place = 8 * place;
            marks.quotes |= zero_bytes(word ^ all(b'"')) << place;
            marks.backslashes |= zero_bytes(word ^ all(b'\\')) << place;
            marks.opening |= zero_bytes(folded ^ all(b'{')) << place;
            marks.closing |= zero_bytes(folded ^ all(b'}')) << place;
            marks.commas |= zero_bytes(word ^ all(b',')) << place;
            marks.colons |= zero_bytes(word ^ all(b':')) << place;
            let whitespace = zero_bytes(word ^ all(b' '))
                | zero_bytes(word ^ all(b'\n'))
                | zero_bytes(word ^ all(b'\r'))
                | zero_bytes(word ^ all(b'\t'));
            marks.whitespace |= whitespace << place;
            marks.controls |= zero_bytes(word & all(0xe0)) << place;
        }
        marks
    }
}

/// A bit for each byte of the word, set where the byte is zero.
///
/// Unlike the searches for a first hit in `words`, nothing borrows here, so that all eight are right.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    const LOWS: u64 = ONES * 0x7f;
    let marks = !(((word & LOWS) + LOWS) | word | LOWS);
    // Each mark, now the lowest bit of its byte, is multiplied to its own place in the highest byte.
    (marks >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
