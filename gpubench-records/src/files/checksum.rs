//! The checksum of a stored line: `"crc32"`, the last key of its object. In: the line; out: the same with its checksum, or the
//! finding that somebody changed it. A checksum finds damage and edits by hand; it is no protection against an attack.

use crc32fast::Hasher;

/// The beginning of the checksum.
const KEY: &[u8] = b",\"crc32\":\"";
/// The digits of the checksum.
const DIGITS: usize = 8;
/// The end of each line: that of its object, and that of the object which names its kind.
const END: &[u8] = b"}}";

/// The result of a look at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// It is as it was written.
    Fits,
    /// It was changed after it was written.
    Differs,
    /// It has none: builds before 2026-11-22 wrote none.
    Missing,
}

/// Adds its checksum to `line`, which has no line end yet.
pub(crate) fn add(line: &mut Vec<u8>) {
    if let Some(body) = line.strip_suffix(END) {
        let sum = format!("{:08x}\"", of(body));
        line.truncate(line.len() - END.len());
        line.extend([KEY, sum.as_bytes(), END].concat());
    }
}

/// Compares `line` with its checksum.
pub(crate) fn look(line: &[u8]) -> Checksum {
    let parts = || {
        let (body, sum) =
            line.trim_ascii_end().strip_suffix(END)?.strip_suffix(b"\"")?.split_last_chunk::<DIGITS>()?;
        let sum = u32::from_str_radix(str::from_utf8(sum).ok()?, 16).ok()?;
        Some((body.strip_suffix(KEY)?, sum))
    };
    match parts() {
        None => Checksum::Missing,
        Some((body, sum)) if of(body) == sum => Checksum::Fits,
        Some(_) => Checksum::Differs,
    }
}

/// The checksum of a line without it and without its end.
fn of(body: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_found() {
        let mut line = br#"{"end":{"wall":12.5}}"#.to_vec();
        assert_eq!(look(&line), Checksum::Missing);
        add(&mut line);
        assert_eq!(str::from_utf8(&line), Ok(r#"{"end":{"wall":12.5,"crc32":"9b8b1b34"}}"#));
        line.push(b'\n');
        assert_eq!(look(&line), Checksum::Fits);
        for place in 0..line.len() - 3 {
            let mut changed = line.clone();
            changed[place] ^= 1;
            assert_ne!(look(&changed), Checksum::Fits, "byte {place}");
        }
    }
}
