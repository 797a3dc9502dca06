//! The largest run that exports are meant for: 10,000 cases of 1,000 samples. The time is that of the
//! processor: others may use the machine too.
//!
//!     cargo test --release -p gpubench-report --test exports -- --ignored --nocapture scale

use std::fs;
use std::io::{self, Write};
use std::time::Duration;

use gpubench_records::id::Arg;
use gpubench_records::record::Run;
use gpubench_report::export::FORMATS;
use gpubench_stats::Summary;
use gpubench_stats::units::Nanoseconds;

use super::small;

const CASES: usize = 10_000;
const SAMPLES: usize = 1_000;

/// Counts what is written.
struct CountingWriter(usize);

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn large() -> Run {
    let mut run = small("gpu.jsonl");
    let mut record = run.records.remove(0);
    let samples = &mut record.measurement.as_mut().expect("it was measured").samples;
    samples.event_times = (0..SAMPLES).map(|i| Nanoseconds(3680.0 + (i * 7 % 100) as f64 / 3.0)).collect();
    samples.time = Summary::of(&samples.times(), samples.timer.resolution).expect("there are samples");
    let numbered = |number: usize| {
        let mut record = record.clone();
        record.case.args = vec![Arg { name: "n".to_owned(), value: number.to_string() }];
        record
    };
    run.records = (0..CASES).map(numbered).collect();
    run.planned_cases = CASES;
    run
}

/// The most memory that this process has had since this was reset, where the system tells.
fn most_memory() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<usize>().ok()? << 10)
}

/// The time of a processor that this thread has had, where the system tells.
fn processor_time() -> Option<Duration> {
    let status = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    status.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[test]
#[ignore = "takes half a minute, of a release build"]
#[expect(clippy::print_stdout, reason = "its figures are read by whoever runs it")]
fn scale() {
    let run = large();
    for (format, _) in FORMATS {
        // Has the system forget the earlier maximum.
        _ = fs::write("/proc/self/clear_refs", "5");
        let (begin, mut out) = (processor_time().unwrap_or_default(), io::BufWriter::new(CountingWriter(0)));
        (format.write)(&run, &mut out).expect("it takes everything");
        let took = processor_time().unwrap_or_default() - begin;
        let memory = most_memory().unwrap_or_default();
        let written = out.into_inner().map_or(0, |counter| counter.0);
        println!(
            "{:<17} {took:>8.2?} {:>6} MiB of memory, {:>6} MiB written",
            format.name,
            memory >> 20,
            written >> 20
        );
        assert!(took < Duration::from_secs(5) && memory < 1 << 30, "{}", format.name);
    }
}
