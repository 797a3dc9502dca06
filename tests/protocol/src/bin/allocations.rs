//! The number of allocations by the engine, for given numbers of samples: a line each.

#![expect(clippy::print_stdout, reason = "prints what it counted")]

use std::env;
use std::process::ExitCode;

use protocol::engine::Engine;

fn main() -> Result<ExitCode, String> {
    let mut engine = Engine::start()?;
    for samples in env::args().skip(1) {
        let samples = samples.parse().map_err(|error| format!("{samples}: {error}"))?;
        let mut taken = Ok(());
        let counted = allocation_counter::measure(|| taken = engine.sample(samples).map(drop));
        taken?;
        println!("{}", counted.count_total);
    }
    Ok(ExitCode::SUCCESS)
}
