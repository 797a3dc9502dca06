//! Options of the command line. In: `--name value`; out: the value, or what stands for it.

use crate::Failure;

/// Returns the value of `--name`.
pub fn text(name: &str) -> Option<String> {
    let wanted = format!("--{name}");
    std::env::args().skip_while(|word| *word != wanted).nth(1)
}

/// Returns the number that `--name` gives.
pub fn number(name: &str, otherwise: u64) -> Result<u64, Failure> {
    Ok(numbers(name, &[otherwise])?[0])
}

/// Returns the numbers that `--name` gives, with commas between them.
pub fn numbers(name: &str, otherwise: &[u64]) -> Result<Vec<u64>, Failure> {
    let Some(text) = text(name) else { return Ok(otherwise.to_vec()) };
    let parse = |word: &str| word.parse::<u64>().map_err(|_| format!("--{name} {text}: no number").into());
    text.split(',').map(parse).collect()
}
