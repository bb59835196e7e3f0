//! [`Lanes`] in AVX2, thirty-two bytes at a time, and carry-less multiplication.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m256i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_set1_epi8, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setr_epi8, _mm256_shuffle_epi8,
};

use super::{BLOCK, Lanes, Marks, Pass};

/// The proof that the processor has what the functions below are compiled for: there is no other way to come by one.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(());

impl Avx2 {
    /// Asks the processor; the answer is kept by the standard library.
    #[inline(always)]
    pub(super) fn detect() -> Option<Avx2> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Avx2(()))
    }

    /// Runs a pass that is compiled for these instructions.
    #[inline(always)]
    pub(super) fn run<P: Pass>(self, pass: P) -> P::Output {
        // SAFETY: `detect` has found all that is enabled there.
        unsafe { run(self, pass) }
    }
}

#[target_feature(enable = "avx2,pclmulqdq,bmi1,popcnt")]
fn run<P: Pass>(lanes: Avx2, pass: P) -> P::Output {
    pass.run(lanes)
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn marks(self, block: &[u8; BLOCK]) -> Marks {
        let (low, high) = block.split_at(BLOCK / 2);
        // SAFETY: `self` proves that the instructions exist. Each half is 32 bytes long, and a load needs no alignment.
        unsafe {
            let bytes =
                Bytes(_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast()));
            // `[` and `{`, `]` and `}` differ in the bit of 0x20 alone.
            let bit = _mm256_set1_epi8(0x20);
            let folded = Bytes(_mm256_or_si256(bytes.0, bit), _mm256_or_si256(bytes.1, bit));
            // The white space with the same lower four bits, and 0 where there is none or the highest bit is set. A 0 is
            // another byte than the one that gets it, for the byte 0 itself gets the space.
            let table = _mm256_setr_epi8(
                0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0x0a, 0, 0, 0x0d, 0, 0, //
                0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0x0a, 0, 0, 0x0d, 0, 0,
            );
            let white = Bytes(_mm256_shuffle_epi8(table, bytes.0), _mm256_shuffle_epi8(table, bytes.1));
            let last = _mm256_set1_epi8(0x1f);
            let control = Bytes(_mm256_min_epu8(bytes.0, last), _mm256_min_epu8(bytes.1, last));
            Marks {
                quotes: equal_to(bytes, b'"'),
                backslashes: equal_to(bytes, b'\\'),
                opening: equal_to(folded, b'{'),
                closing: equal_to(folded, b'}'),
                commas: equal_to(bytes, b','),
                colons: equal_to(bytes, b':'),
                whitespace: equal(bytes, white),
                controls: equal(bytes, control),
            }
        }
    }

    #[inline(always)]
    fn parity_up_to(self, bits: u64) -> u64 {
        // SAFETY: `self` proves that the instructions exist.
        unsafe { parity_by_product(bits) }
    }
}

/// [`Lanes::parity_up_to`]: a product without carries by all ones is the exclusive or of all shifts.
///
/// # Safety
///
/// The processor has carry-less multiplication.
#[inline(always)]
pub(super) unsafe fn parity_by_product(bits: u64) -> u64 {
    // SAFETY: as above.
    unsafe {
        let bits = _mm_set_epi64x(0, bits.cast_signed());
        _mm_cvtsi128_si64(_mm_clmulepi64_si128::<0>(bits, _mm_set1_epi8(-1))).cast_unsigned()
    }
}

/// A block.
#[derive(Clone, Copy)]
struct Bytes(__m256i, __m256i);

/// A bit for each byte, set where it is `byte`.
///
/// # Safety
///
/// The processor has AVX2.
#[inline(always)]
unsafe fn equal_to(bytes: Bytes, byte: u8) -> u64 {
    // SAFETY: as above.
    unsafe {
        let byte = _mm256_set1_epi8(byte.cast_signed());
        equal(bytes, Bytes(byte, byte))
    }
}

/// A bit for each byte, set where both are the same.
///
/// # Safety
///
/// The processor has AVX2.
#[inline(always)]
unsafe fn equal(these: Bytes, those: Bytes) -> u64 {
    // SAFETY: as above.
    unsafe {
        let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(these.0, those.0)).cast_unsigned();
        let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(these.1, those.1)).cast_unsigned();
        u64::from(low) | u64::from(high) << 32
    }
}
