//! A suite with as many cases as `END_TO_END_CASES` says, by 20 benchmarks. At its end it says on standard error how long it and
//! its workers had a processor, in milliseconds, and the most memory that it had, in KiB.

use std::process::ExitCode;
use std::{env, fs};

use end_to_end::clockwork::Clockwork;
use gpubench::gpu_bench;
use gpubench_runtime::worker;

#[expect(clippy::print_stderr, reason = "the test reads this line")]
fn main() -> ExitCode {
    let ended = gpubench::__private::main(gpubench::__private::build(None, module_path!()), false);
    if env::args().all(|argument| argument != worker::FLAG) {
        let [own, workers] = processor_times();
        eprintln!("cost: {own} {workers} {}", most_memory());
    }
    ended
}

/// The times of this process and of those that it has waited for, in milliseconds.
fn processor_times() -> [u64; 2] {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let (_, fields) = stat.rsplit_once(") ").expect("the name is in brackets");
    let ticks = |field: usize| fields.split(' ').nth(field)?.parse::<u64>().ok();
    // Hundredths of seconds, of its code and for it in the system, by the manual's numbers of fields less three.
    [[11, 12], [13, 14]]
        .map(|fields| 10 * fields.map(|field| ticks(field).expect("a number")).iter().sum::<u64>())
}

fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is there");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The number of cases of each benchmark.
fn cases() -> u64 {
    env::var("END_TO_END_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_u64) / 20
}

macro_rules! benchmarks {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[gpu_bench(args(n = 0..cases()), reads = 32)]
            fn advance(n: u64, stream: &Clockwork) {
                stream.advance(32 * (n % 100 + 1));
            }
        }
    )*};
}
benchmarks! { a b c d e f g h i j k l m n o p q r s t }
