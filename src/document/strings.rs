//! Where strings begin and end in a text that is looked at in blocks.

use super::block::{Lanes, Marks};

/// What has to be known of the blocks before to tell where strings begin and end.
#[derive(Default)]
pub(super) struct Strings {
    /// All ones when the next block begins inside of a string.
    open: u64,
    /// One when the next block's first byte is escaped by a backslash before it.
    escaped: u64,
}

/// What a block has of strings, a bit for each byte.
pub(super) struct Strung {
    /// The bytes of strings, with their opening quotes and without their closing ones.
    pub(super) inside: u64,
    /// The quotes that open or close a string.
    pub(super) quotes: u64,
    /// What a backslash escapes.
    pub(super) escaped: u64,
}

impl Strings {
    /// Goes on by a block.
    #[inline(always)]
    pub(super) fn pass(&mut self, lanes: impl Lanes, marks: &Marks) -> Strung {
        let escaped =
            if marks.backslashes | self.escaped == 0 { 0 } else { self.escaped_bytes(marks.backslashes) };
        let quotes = marks.quotes & !escaped;
        let inside = lanes.parity_up_to(quotes) ^ self.open;
        self.open = (inside.cast_signed() >> 63).cast_unsigned();
        Strung { inside, quotes, escaped }
    }

    /// Which bytes of the next block a backslash escapes.
    ///
    /// Of a run of backslashes the first escapes the second, the third the fourth, and the last of an odd number what
    /// stands behind the run. Subtracting each run's beginning from the odd bits turns the bits of the run, up to the
    /// one behind it, into every other one: for runs that begin at an even place right as they are, else just the others.
    #[inline(always)]
    fn escaped_bytes(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        // A backslash that is escaped itself begins no run.
        let runs = backslashes & !self.escaped;
        let alternating = (runs << 1 | ODD).wrapping_sub(runs) ^ ODD;
        let escaped = alternating ^ (backslashes | self.escaped);
        self.escaped = (alternating & backslashes) >> 63;
        escaped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_backslash_of_a_run_escapes() {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for round in 0..10_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let backslashes = match round % 4 {
                0 => random,
                1 => random & random.rotate_left(1),
                2 => random | random.rotate_left(1) | random.rotate_left(2),
                _ => !(1 << (random % 64)),
            };
            for before in [0, 1] {
                let mut strings = Strings { open: 0, escaped: before };
                let (mut expected, mut is_escaped) = (0, before == 1);
                for place in 0..64 {
                    expected |= u64::from(is_escaped) << place;
                    is_escaped = !is_escaped && backslashes >> place & 1 == 1;
                }
                assert_eq!(strings.escaped_bytes(backslashes), expected, "{backslashes:#x}");
                assert_eq!(strings.escaped, u64::from(is_escaped), "{backslashes:#x}");
            }
        }
    }
}
