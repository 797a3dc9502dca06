//! Inputs that are nearly right.

use rand::rngs::StdRng;
use rand::{Rng, RngExt};

/// Replacements for numbers.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "0.0",
    "-0.0",
    "1e308",
    "-1e308",
    "5e-324",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993",
    "null",
];

/// Replacements for words.
const WORDS: [&str; 10] = [
    "",
    " ",
    "\\u0000",
    "\\u001b[31m",
    "\u{202e}",
    "é",
    "\\ud83d\\ude00",
    "hot",
    "gpubench/3",
    "A very long word, longer than any \
     that a table has room for, and then some more of it so that it does not fit any line of any terminal anywhere",
];

/// Changes inputs at random.
pub(crate) struct Changer<'a> {
    corpus: &'a [Vec<u8>],
    random: StdRng,
}

impl<'a> Changer<'a> {
    pub(crate) fn of(corpus: &'a [Vec<u8>], random: StdRng) -> Self {
        Self { corpus, random }
    }

    /// The next input: one of the corpus with a few changes.
    pub(crate) fn next(&mut self) -> Vec<u8> {
        let mut input = self.one().to_vec();
        for _ in 0..self.random.random_range(1..=4) {
            self.change(&mut input);
        }
        input
    }

    fn one(&mut self) -> &'a [u8] {
        &self.corpus[self.random.random_range(0..self.corpus.len())]
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let place = self.random.random_range(0..=input.len());
        match self.random.random_range(0..10) {
            0 => input.truncate(place),
            1 => input.insert(place, self.random.next_u32() as u8),
            2 if place < input.len() => input[place] ^= 1 << self.random.random_range(0..8),
            3 if place < input.len() => drop(input.remove(place)),
            4 => {
                let part = self.part(input.len());
                drop(input.drain(part));
            }
            5 => {
                let other = self.one();
                let part = other[self.part(other.len())].to_vec();
                drop(input.splice(place..place, part));
            }
            6 => {
                let part = self.part(input.len());
                let part = input[part].to_vec();
                drop(input.splice(place..place, part));
            }
            _ => self.replace_token(input, place),
        }
    }

    /// A short part of so many bytes, or now and then a long one.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let longest = if self.random.random_range(0..4) == 0 { length } else { 40 };
        let begin = self.random.random_range(0..=length);
        begin..(begin + self.random.random_range(0..=longest)).min(length)
    }

    /// Puts another number or word in place of the first one behind `place`.
    fn replace_token(&mut self, input: &mut Vec<u8>, place: usize) {
        let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let find =
            |from: usize, is: &dyn Fn(&u8) -> bool| input[from..].iter().position(is).map(|at| from + at);
        let (begin, end, other) = if self.random.random_range(0..2) == 0 {
            let Some(begin) = find(place, &|byte| byte.is_ascii_digit()) else { return };
            let end = find(begin, &|byte| !is_number(byte)).unwrap_or(input.len());
            (begin, end, NUMBERS[self.random.random_range(0..NUMBERS.len())])
        } else {
            let Some(begin) = find(place, &|byte| *byte == b'"').map(|quote| quote + 1) else { return };
            let Some(end) = find(begin, &|byte| *byte == b'"') else { return };
            (begin, end, WORDS[self.random.random_range(0..WORDS.len())])
        };
        drop(input.splice(begin..end, other.bytes()));
    }
}
