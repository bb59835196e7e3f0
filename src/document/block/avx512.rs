//! [`Lanes`] in AVX-512, all sixty-four bytes at once: comparing makes the words of bits right away.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m512i, _mm_setr_epi8, _mm512_broadcast_i32x4, _mm512_cmpeq_epi8_mask, _mm512_cmplt_epu8_mask,
    _mm512_loadu_si512, _mm512_or_si512, _mm512_set1_epi8, _mm512_shuffle_epi8,
};

use super::avx2::parity_by_product;
use super::{BLOCK, Lanes, Marks, Pass};

/// The proof that the processor has what the functions below are compiled for: there is no other way to come by one.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx512(());

impl Avx512 {
    /// Asks the processor; the answer is kept by the standard library.
    #[inline(always)]
    pub(super) fn detect() -> Option<Avx512> {
        // VBMI2 is not used. Processors without it slow down where registers of this size are used.
        let has_all = is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Avx512(()))
    }

    /// Runs a pass that is compiled for these instructions.
    #[inline(always)]
    pub(super) fn run<P: Pass>(self, pass: P) -> P::Output {
        // SAFETY: `detect` has found all that is enabled there.
        unsafe { run(self, pass) }
    }
}

#[target_feature(enable = "avx512f,avx512bw,pclmulqdq,bmi1,popcnt")]
fn run<P: Pass>(lanes: Avx512, pass: P) -> P::Output {
    pass.run(lanes)
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn marks(self, block: &[u8; BLOCK]) -> Marks {
        // SAFETY: `self` proves that the instructions exist. The load has its 64 bytes and needs no alignment.
        unsafe {
            let bytes = _mm512_loadu_si512(block.as_ptr().cast());
            // As in `avx2`.
            let folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
            let table = _mm_setr_epi8(0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0x0a, 0, 0, 0x0d, 0, 0);
            let white = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), bytes);
            Marks {
                quotes: equal_to(bytes, b'"'),
                backslashes: equal_to(bytes, b'\\'),
                opening: equal_to(folded, b'{'),
                closing: equal_to(folded, b'}'),
                commas: equal_to(bytes, b','),
                colons: equal_to(bytes, b':'),
                whitespace: _mm512_cmpeq_epi8_mask(bytes, white),
                controls: _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
            }
        }
    }

    #[inline(always)]
    fn parity_up_to(self, bits: u64) -> u64 {
        // SAFETY: `self` proves that the instructions exist.
        unsafe { parity_by_product(bits) }
    }
}

/// A bit for each byte, set where it is `byte`.
///
/// # Safety
///
/// The processor has AVX-512F and AVX-512BW.
#[inline(always)]
unsafe fn equal_to(bytes: __m512i, byte: u8) -> u64 {
    // SAFETY: as above.
    unsafe { _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed())) }
}
