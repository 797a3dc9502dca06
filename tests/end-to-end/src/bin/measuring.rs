//! A program with its own `main`: it measures with `Settings`, reads the runs, and prints its own results.

#![expect(clippy::print_stdout, reason = "prints its results")]

use std::env;
use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::process::ExitCode;

use end_to_end::clockwork::Clockwork;
use gpubench::record::Run;
use gpubench::settings::{ArgValues, CacheStates, RunsDir};
use gpubench::{Error, Progress, RunEvent, RunEvents, Settings, Suite, gpu_bench};
use gpubench_runtime::worker;
use rustix::process::{Signal, getpid, getppid, kill_process};

#[gpu_bench(args(n = [1, 2]))]
fn ticks(n: u64, stream: &Clockwork) {
    stream.advance(3_200 * n);
}

#[gpu_bench(ignore)]
fn fails(_stream: &Clockwork) -> Result<(), &'static str> {
    Err("as it must")
}

/// Interrupts the program after its first launch.
#[gpu_bench(ignore)]
fn interrupts(stream: &Clockwork) -> rustix::io::Result<()> {
    stream.advance(3_200);
    let in_worker = env::args().any(|argument| argument == worker::FLAG);
    let program = if in_worker { getppid() } else { Some(getpid()) };
    match stream.sampled() {
        None => program.map_or(Ok(()), |program| kill_process(program, Signal::TERM)),
        Some(_) => Ok(()),
    }
}

#[gpu_bench(ignore)]
fn after_an_interrupt(_stream: &Clockwork) {}

fn main() -> ExitCode {
    gpubench::program(|suite| match env::args().nth(1).unwrap_or_default().as_str() {
        "sizes" => sizes(suite),
        "observed" => observed(suite),
        "progress" => {
            show(&suite.measure_with(&settings(), &mut Progress::default())?);
            Ok(())
        }
        "environment" => {
            show(&suite.measure(&Settings::from_env()?)?);
            Ok(())
        }
        "failing" => {
            show(&suite.measure(&Settings { include_ignored: true, ..of("fails") })?);
            Ok(())
        }
        "impossible" => Ok(suite.measure(&Settings { samples: Some(0), ..settings() }).map(drop)?),
        "nothing" => Ok(suite.measure(&of("no_such")).map(drop)?),
        "wrapped" => {
            let nothing = suite.measure(&of("no_such"));
            Err(Wrapped(nothing.expect_err("nothing matches")).into())
        }
        "interrupted" => interrupted(suite),
        other => Err(format!("`{other}` is nothing that this program does").into()),
    })
}

fn settings() -> Settings {
    Settings {
        device: Some("clockwork".into()),
        quick: Some(true),
        samples: Some(30),
        runs_dir: Some(RunsDir::Nowhere),
        ..Settings::default()
    }
}

fn of(filter: &str) -> Settings {
    Settings { filter: vec![filter.into()], ..settings() }
}

fn show(run: &Run) {
    for record in &run.records {
        println!("{} {} {}", record.case.name(), record.case.cache, record.verdict.state);
    }
}

/// Measures sizes that the benchmark does not list, one run each.
fn sizes(suite: &Suite) -> Result<(), Box<dyn StdError>> {
    for n in [3, 5] {
        let settings = Settings {
            exact: true,
            arg: vec![ArgValues::new("n", [n])],
            cache: Some(CacheStates::Both),
            ..of(&format!("measuring::ticks[n={n}]"))
        };
        show(&suite.measure(&settings)?);
    }
    Ok(())
}

/// Prints every event.
struct Printed;

impl RunEvents for Printed {
    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Planned(plan, runs) => println!("{} cases, {runs} times", plan.cases()),
            RunEvent::DevicesOpening => println!("opening devices"),
            RunEvent::RunStarted(run, resumed) => {
                println!("started on {}, {} resumed", run.devices[0].device, resumed.len());
            }
            RunEvent::JobStarted(job) => println!("{job}"),
            RunEvent::RecordFinished(record) => println!("{} {}", record.case.name(), record.case.cache),
            RunEvent::RunEnded(run) => println!("ended with {}", run.records.len()),
            RunEvent::Warning(warning) => println!("warning: {warning}"),
            _ => {}
        }
    }
}

fn observed(suite: &Suite) -> Result<(), Box<dyn StdError>> {
    suite.measure_with(&Settings { runs: Some(2), ..settings() }, &mut Printed)?;
    Ok(())
}

/// Shows what the error of an interrupted run holds, and passes it on.
fn interrupted(suite: &Suite) -> Result<(), Box<dyn StdError>> {
    let filter = vec!["ticks[n=1]".into(), "interrupt".into()];
    let options = Settings { filter, include_ignored: true, ..settings() };
    let error = suite.measure(&options).expect_err("it was interrupted");
    if let Some(run) = error.run() {
        show(run);
    }
    Err(error.into())
}

/// An error of the program's own, with the engine's as its cause.
#[derive(Debug)]
struct Wrapped(Error);

impl Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the second step: {}", self.0)
    }
}

impl StdError for Wrapped {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}
