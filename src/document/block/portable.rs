//! [`super::marks`] in plain integers, for processors without SSE2.

use super::super::words::{ONES, all};
use super::{BLOCK, Marks};

/// Marks the bytes that matter for skipping.
pub(in super::super) fn marks(block: &[u8; BLOCK]) -> Marks {
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
    }
    marks
}

/// A bit for each byte of the word, set where the byte is zero.
///
/// Unlike the searches for a first hit in `words`, nothing borrows here, so that all eight are right.
fn zero_bytes(word: u64) -> u64 {
    const LOWS: u64 = ONES * 0x7f;
    let marks = !(((word & LOWS) + LOWS) | word | LOWS);
    // Each mark, now the lowest bit of its byte, is multiplied to its own place in the highest byte.
    (marks >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
