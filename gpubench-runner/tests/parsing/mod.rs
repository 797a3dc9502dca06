//! Readers against files that were cut off, are of something else or were changed by hand, and against
//! command lines. Each is read or refused, in bounded time, and what is read can be printed.
//!
//! `cargo test` takes half a second for each reader, with the same changes each time. `scripts/fuzz` goes on for as long as it
//! is told to, with others, and keeps what it finds.

mod change;
mod readers;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs, panic, process};

use gpubench_records::files;
use rand::SeedableRng;
use rand::rngs::StdRng;

use self::change::Changer;
use self::readers::{READERS, Reader};

/// For how long each reader is tried.
const USUAL: Duration = Duration::from_millis(500);
/// No input of a corpus's size may take longer than this, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// One input of each reader is enough to know that something is wrong; more may be wrong.
const ENOUGH: usize = 20;

#[test]
fn whatever_is_read_is_read_or_refused() {
    let asked = env::var("GPUBENCH_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let each = asked.map_or(USUAL, |seconds: f64| Duration::from_secs_f64(seconds / READERS.len() as f64));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    let seed = if asked.is_some() { now } else { 1 };
    let mut wrong = Vec::new();
    for reader in READERS {
        let corpus = corpus(reader);
        assert!(!corpus.is_empty(), "{} has inputs", reader.name);
        wrong.extend(corpus.iter().filter_map(|input| tried(reader, input).err()));
        let mut changer = Changer::of(&corpus, StdRng::seed_from_u64(seed));
        let (begin, mut inputs, mut read) = (Instant::now(), 0_u64, 0_u64);
        while begin.elapsed() < each && wrong.len() < ENOUGH {
            match tried(reader, &changer.next()) {
                Ok(is_read) => read += u64::from(is_read),
                Err(input) => wrong.push(input),
            }
            inputs += 1;
        }
        // Changes of which nothing is read, or everything, would try little.
        assert!(inputs < 1000 || (read > inputs / 100 && read < inputs), "{read} of {inputs} were read");
        if asked.is_some() {
            // The only one who reads this is whoever asked.
            let took = begin.elapsed().as_secs_f64();
            _ = writeln!(
                io::stderr(),
                "{}: {inputs} inputs in {took:.0} s, {read} of them read",
                reader.name
            );
        }
    }
    assert!(wrong.is_empty(), "not what a reader should do:\n{}", wrong.join("\n"));
}

/// As a process that is killed leaves it: whole records count, and what is cut off is remarked upon.
#[test]
fn a_file_that_ends_anywhere_is_a_run_with_what_it_had() {
    let file = fs::read(folder(&READERS[0]).join("clockwork.jsonl")).expect("it is there");
    let whole = files::read(&file[..]).expect("a run").run.records;
    let first = 1 + file.iter().position(|byte| *byte == b'\n').expect("a line");
    for end in 0..=file.len() {
        let read = files::read(&file[..end]);
        if end < first {
            assert!(read.is_err(), "{end} bytes begin no run");
            continue;
        }
        let lines = file[first..end].iter().filter(|byte| **byte == b'\n').count();
        let stored = read.unwrap_or_else(|error| panic!("{end} bytes: it {error}"));
        assert_eq!(stored.run.records, whole[..lines.min(whole.len())], "{end} bytes");
        assert_eq!((stored.remarks.is_empty() && !stored.is_cut_off), file[end - 1] == b'\n', "{end} bytes");
    }
}

/// Returns true if `input` was read, false if it was refused, and an error if the reader did anything else.
fn tried(reader: &Reader, input: &[u8]) -> Result<bool, String> {
    let begin = Instant::now();
    let read = panic::catch_unwind(|| (reader.read)(input));
    let took = begin.elapsed();
    match read {
        Ok(read) if took < PATIENCE => Ok(read),
        Ok(_) => Err(format!("{} took {took:?}: {}", reader.name, keep(reader, input))),
        Err(_) => Err(format!("{} panicked: {}", reader.name, keep(reader, input))),
    }
}

/// Keeps an input that should be tried again from now on, and returns its path.
fn keep(reader: &Reader, input: &[u8]) -> String {
    let path = folder(reader).join(format!("found-{}-{}", process::id(), input.len()));
    match fs::write(&path, input) {
        Ok(()) => path.display().to_string(),
        Err(_) => format!("{input:?}"),
    }
}

fn folder(reader: &Reader) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parsing/corpus").join(reader.corpus)
}

fn corpus(reader: &Reader) -> Vec<Vec<u8>> {
    let files = fs::read_dir(folder(reader)).expect("there is a corpus").flatten();
    let mut paths: Vec<PathBuf> = files.map(|file| file.path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (reader.prepare)(fs::read(path).expect("it can be read"))).collect()
}
