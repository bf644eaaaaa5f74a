//! The reference's random numbers, fed in order of use.

use super::ValidateError;
use skyhop_queue::Random;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const FILE: &str = "random_seed1.txt.gz";

/// The 64-bit numbers of the packet-exact run, one hexadecimal number a line. A folder without the file has them as its
/// README says: SplitMix64 from 1.
pub fn read(folder: &Path) -> Result<Vec<u64>, ValidateError> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(split_mix(1).take(GENERATED).collect());
    }
    let error = |reason: String| ValidateError::Read { path: path.display().to_string(), reason };
    let mut text = String::new();
    let file = File::open(&path).map_err(|e| error(e.to_string()))?;
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).map_err(|e| error(e.to_string()))?;
    let number = |(line, text): (usize, &str)| {
        u64::from_str_radix(text.trim(), 16)
            .map_err(|_| error(format!("line {}: \"{text}\" is not a hexadecimal number of 64 bits", line + 1)))
    };
    text.lines().enumerate().map(number).collect()
}

/// As many as the longest case of the reference draws, and room.
const GENERATED: usize = 1 << 16;

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn split_mix(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

/// Numbers in order of use.
pub struct Numbers<'a> {
    list: &'a [u64],
    used: usize,
}

impl Numbers<'_> {
    pub fn new(list: &[u64]) -> Numbers<'_> {
        Numbers { list, used: 0 }
    }

    pub fn used(&self) -> u64 {
        self.used as u64
    }

    /// The problem if more numbers were drawn than the list has.
    pub fn problem(&self) -> Option<String> {
        let (used, given) = (self.used, self.list.len());
        (used > given).then(|| format!("{used} random numbers drawn, only {given} are given"))
    }
}

impl Random for Numbers<'_> {
    fn bits(&mut self) -> u64 {
        let number = self.list.get(self.used).copied().unwrap_or(0);
        self.used += 1;
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first lines of the reference's file.
    #[test]
    fn the_references_numbers_are_split_mix_from_1() {
        let first: Vec<u64> = split_mix(1).take(3).collect();
        assert_eq!(first, [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67, 0xf893_a2ee_fb32_555e]);
    }
}
