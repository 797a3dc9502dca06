//! Options of the command line.

use crate::Failure;

/// Refuses options that are none of `known`, those without a value, and words beside them.
pub fn check(known: &[&str]) -> Result<(), Failure> {
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let is_known = word.strip_prefix("--").is_some_and(|name| known.contains(&name));
        if !is_known || words.next().is_none() {
            let known = known.iter().map(|name| format!(" --{name} VALUE")).collect::<String>();
            return Err(format!("{word}: the options are{known}").into());
        }
    }
    Ok(())
}

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
