//! [`Lanes`] in SSE2, sixteen bytes at a time.

use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
};

use super::{BLOCK, Lanes, Marks};

/// What every x86-64 processor has.
#[derive(Clone, Copy)]
pub(in super::super) struct Sse2;

impl Lanes for Sse2 {
    #[inline(always)]
    fn marks(self, block: &[u8; BLOCK]) -> Marks {
        let quarters = block.as_chunks().0;
        // By hand, for the compiler leaves a loop over the four a loop when it is asked for small code.
        let mut marks = Marks::default();
        mark(&quarters[0], 0, &mut marks);
        mark(&quarters[1], 16, &mut marks);
        mark(&quarters[2], 32, &mut marks);
        mark(&quarters[3], 48, &mut marks);
        marks
    }
}

/// Adds the marks of the sixteen bytes at `place`.
#[inline(always)]
fn mark(sixteen: &[u8; 16], place: u32, marks: &mut Marks) {
    // SAFETY: SSE2 is part of x86-64, the load has its sixteen bytes and needs no alignment.
    unsafe {
        let bytes = _mm_loadu_si128(<*const [u8; 16]>::cast(sixteen));
        // `[` and `{`, `]` and `}` differ in the bit of 0x20 alone.
        let folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        marks.quotes |= equal_to(bytes, b'"') << place;
        marks.backslashes |= equal_to(bytes, b'\\') << place;
        marks.opening |= equal_to(folded, b'{') << place;
        marks.closing |= equal_to(folded, b'}') << place;
        marks.commas |= equal_to(bytes, b',') << place;
        marks.colons |= equal_to(bytes, b':') << place;
        let white =
            equal_to(bytes, b' ') | equal_to(bytes, b'\n') | equal_to(bytes, b'\r') | equal_to(bytes, b'\t');
        marks.whitespace |= white << place;
        marks.controls |= equal(bytes, _mm_min_epu8(bytes, _mm_set1_epi8(0x1f))) << place;
    }
}

/// A bit for each byte, set where it is `byte`.
#[inline(always)]
fn equal_to(bytes: __m128i, byte: u8) -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { equal(bytes, _mm_set1_epi8(byte.cast_signed())) }
}

/// A bit for each byte, set where both are the same.
#[inline(always)]
fn equal(these: __m128i, those: __m128i) -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(these, those)).cast_unsigned()) }
}
