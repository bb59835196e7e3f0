//! Sixty-four bytes at a time: where quotes, backslashes and brackets stand, a bit for each byte.
//!
//! The search is there twice with one signature: in plain integers, and in the SSE2 instructions that every x86-64
//! processor has.

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse2;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use portable::marks;
#[cfg(target_arch = "x86_64")]
pub(super) use sse2::marks;

/// How many bytes a block has.
pub(super) const BLOCK: usize = 64;

/// Where the bytes that matter for skipping stand in a block; the first byte's bit is the lowest.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_marked_as_what_it_is_wherever_it_stands() {
        for byte in 0..=255 {
            for place in 0..BLOCK {
                for around in [b'a', b'"', b'\\', b'{', b']', 0x00, 0xff] {
                    let mut block = [around; BLOCK];
                    block[place] = byte;
                    assert_eq!(marks(&block), expected(&block));
                    assert_eq!(portable::marks(&block), expected(&block));
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
                _ => {}
            }
        }
        marks
    }
}
