//! The fake's log.

use std::collections::BTreeMap;
use std::ops::Range;

/// Something that a process did.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The number of the process.
    pub process: u32,
    /// When it began on the device's clock, in nanoseconds.
    pub begin: f64,
    /// The time that it took there, in nanoseconds.
    pub duration: f64,
    /// Its stream; nothing for a call.
    pub stream: Option<String>,
    /// `call`, `graph`, `kernel`, `memset`, `record` and so on.
    pub what: String,
    /// The other words of the line.
    pub words: Vec<String>,
}

impl Line {
    /// Returns true for a call, or a kernel, of this name.
    #[must_use]
    pub fn is(&self, what: &str, name: &str) -> bool {
        self.what == what && self.words.first().is_some_and(|word| word == name)
    }

    /// The memory that it touches in a way, such as `write`.
    #[must_use]
    pub fn memory(&self, how: &str) -> Option<Range<u64>> {
        let span = self.words.iter().find_map(|word| word.strip_prefix(how)?.strip_prefix("=0x"))?;
        let (start, bytes) = span.split_once('+')?;
        let (start, bytes) = (u64::from_str_radix(start, 16).ok()?, bytes.parse::<u64>().ok()?);
        Some(start..start + bytes)
    }
}

/// The lines of a log. Processes write in turns, so that they are put one after the other.
///
/// # Panics
/// If a line cannot be read.
#[must_use]
pub fn read(text: &str) -> Vec<Line> {
    let mut processes: BTreeMap<u32, Vec<Line>> = BTreeMap::new();
    for line in text.lines() {
        let read = line_of(line).unwrap_or_else(|| panic!("no line of a log: {line}"));
        processes.entry(read.process).or_default().push(read);
    }
    processes.into_values().flatten().collect()
}

fn line_of(text: &str) -> Option<Line> {
    let mut words = text.split_whitespace();
    Some(Line {
        process: words.next()?.parse().ok()?,
        begin: words.next()?.parse().ok()?,
        duration: words.next()?.parse().ok()?,
        stream: words.next().map(|stream| (stream != "-").then(|| stream.to_owned()))?,
        what: words.next()?.to_owned(),
        words: words.map(str::to_owned).collect(),
    })
}

/// The lines of each replayed graph, in order.
#[must_use]
pub fn replays(log: &[Line]) -> Vec<&[Line]> {
    let starts = log.iter().enumerate().filter(|(_, line)| line.what == "graph");
    let nodes = |(index, line): (usize, &Line)| {
        let count = line.words[0].parse::<usize>().expect("a number of nodes");
        &log[index + 1..][..count]
    };
    starts.map(nodes).collect()
}
