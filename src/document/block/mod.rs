//! Sixty-four bytes at a time: where the bytes that JSON is made of stand, a bit for each byte.
//!
//! A pass over a text ([`Pass`]) is written once, over [`Lanes`], and compiled once for each set of instructions that
//! these are there for: AVX-512 or AVX2 where the processor has them, which is asked when the program runs, and SSE2, which every
//! x86-64 processor has. `portable` does the same in plain integers, for all others. Skipping a pretty-printed state, they make
//! 22, 14, 4.4 and 1.5 GB/s; a loop over bytes that is left to the compiler's vectoriser 0.8. That is what the `unsafe` in
//! them buys.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

/// How many bytes a block has.
pub(super) const BLOCK: usize = 64;

/// Where the bytes that matter stand in a block; the first byte's bit is the lowest.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// `"`
    pub(super) quotes: u64,
    /// `\`
    pub(super) backslashes: u64,
    /// `{` and `[`
    pub(super) opening: u64,
    /// `}` and `]`
    pub(super) closing: u64,
    /// `,`
    pub(super) commas: u64,
    /// `:`
    pub(super) colons: u64,
    /// Space, tab, line feed, carriage return.
    pub(super) whitespace: u64,
    /// Every byte below the space.
    pub(super) controls: u64,
}

/// A way to look at a whole block at once.
pub(super) trait Lanes: Copy {
    /// Marks the bytes that matter. What a pass does not use of them is not computed.
    fn marks(self, block: &[u8; BLOCK]) -> Marks;

    /// Each bit becomes the parity of itself and all lower ones: ones from each opening quote up to its closing one.
    #[inline(always)]
    fn parity_up_to(self, mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }
}

/// A pass over a text, whatever the lanes are. `run` has to be `inline(always)`, and so has what it spends its time in:
/// only then are they compiled for the lanes' instructions.
pub(super) trait Pass {
    type Output;

    fn run(self, lanes: impl Lanes) -> Self::Output;
}

/// Runs a pass on the widest lanes that the processor has.
///
/// Never inlined: the program is to have every pass once for each of the lanes.
#[inline(never)]
pub(super) fn run<P: Pass>(pass: P) -> P::Output {
    #[cfg(target_arch = "x86_64")]
    {
        run_if_wide(pass).unwrap_or_else(|pass| pass.run(sse2::Sse2))
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        pass.run(portable::Portable)
    }
}

/// Runs a pass that would not pay on narrow lanes; gives it back when the processor has no others.
#[inline(always)]
pub(super) fn run_if_wide<P: Pass>(pass: P) -> Result<P::Output, P> {
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = avx512::Avx512::detect() {
        return Ok(lanes.run(pass));
    } else if let Some(lanes) = avx2::Avx2::detect() {
        return Ok(lanes.run(pass));
    }
    Err(pass)
}

/// The block of a text at `at`, filled up with spaces at the end.
#[inline(always)]
pub(super) fn block_at(text: &[u8], at: usize) -> [u8; BLOCK] {
    let rest = &text[at..];
    match rest.first_chunk() {
        Some(block) => *block,
        None => last_block(rest),
    }
}

#[cold]
fn last_block(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

/// Runs a pass on all lanes that this processor has, and has them agree.
#[cfg(test)]
pub(super) fn run_on_all<P: Pass + Clone>(pass: P) -> P::Output
where
    P::Output: PartialEq + std::fmt::Debug,
{
    let output = pass.clone().run(portable::Portable);
    #[cfg(target_arch = "x86_64")]
    {
        assert_eq!(pass.clone().run(sse2::Sse2), output, "SSE2");
        if let Some(lanes) = avx2::Avx2::detect() {
            assert_eq!(lanes.run(pass.clone()), output, "AVX2");
        }
        if let Some(lanes) = avx512::Avx512::detect() {
            assert_eq!(lanes.run(pass), output, "AVX-512");
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct MarksOf([u8; BLOCK]);

    impl Pass for MarksOf {
        type Output = Marks;

        fn run(self, lanes: impl Lanes) -> Marks {
            lanes.marks(&self.0)
        }
    }

    #[test]
    fn every_byte_is_marked_as_what_it_is_wherever_it_stands() {
        for byte in 0..=255 {
            for place in 0..BLOCK {
                for around in [b'a', b'"', b'\\', b'{', b']', b'\n', b':', 0x00, 0xff] {
                    let mut block = [around; BLOCK];
                    block[place] = byte;
                    assert_eq!(run_on_all(MarksOf(block)), expected(&block), "{byte} at {place} in {around}");
                }
            }
        }
    }

    fn expected(block: &[u8; BLOCK]) -> Marks {
        let mut marks = Marks::default();
        for (place, byte) in block.iter().enumerate() {
            let bit = 1 << place;
            match byte {
                b'"' => marks.quotes |= bit,
                b'\\' => marks.backslashes |= bit,
                b'{' | b'[' => marks.opening |= bit,
                b'}' | b']' => marks.closing |= bit,
                b',' => marks.commas |= bit,
                b':' => marks.colons |= bit,
                _ => {}
            }
            if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                marks.whitespace |= bit;
            }
            if *byte < b' ' {
                marks.controls |= bit;
            }
        }
        marks
    }

    #[derive(Clone)]
    struct Parity(u64);

    impl Pass for Parity {
        type Output = u64;

        fn run(self, lanes: impl Lanes) -> u64 {
            lanes.parity_up_to(self.0)
        }
    }

    #[test]
    fn parity_counts_a_bit_and_all_lower_ones() {
        for bits in [0, 1, 1 << 63, u64::MAX, 0x2545_f491_4f6c_dd1d, 0b1001_0110] {
            let expected = (0..64).fold(0, |parity, place| {
                parity | u64::from((bits << (63 - place)).count_ones() & 1) << place
            });
            assert_eq!(run_on_all(Parity(bits)), expected, "{bits:#x}");
        }
    }
}
