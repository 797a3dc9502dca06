//! The cost of the engine, measured by itself on this machine's CPU: so many samples of an empty launch on the fake libcuda,
//! whose own work is included, and the plan of ten thousand cases.
//!
//! ```sh
//! cargo build -p fake-cuda
//! GPUBENCH_LIBCUDA=target/debug/libfake_cuda.so cargo run -p protocol --bin engine -- --device host
//! ```

use gpubench::{gpu_bench, host};
use gpubench_records::selection::{CaseSelection, NameFilter};
use gpubench_runner::__private::{Ignored, Selection, plan};
use gpubench_runtime::device::Available;
use protocol::engine::Engine;

/// From one number to the other, eight samples in nine are added, and nothing else.
#[gpu_bench(args(samples = [4096, 36_864]), setup = |_samples| Engine::start())]
fn sample(engine: &mut Engine, samples: usize, _stream: &host::Stream) -> Result<(), String> {
    engine.sample(samples).map(drop)
}

/// Ten thousand cases, to be planned.
#[gpu_bench(args(n = 0..10_000), ignore)]
fn many(_stream: &host::Stream) {}

/// Plans them.
#[gpu_bench]
fn plan_many(_stream: &host::Stream) -> Result<(), String> {
    let cases =
        CaseSelection { filters: vec![NameFilter::Text("::many".to_owned())], ..CaseSelection::default() };
    let many = Selection { cases, ignored: Ignored::Only, ..Selection::default() };
    let plan = plan(&many, &[Available::new("host", "host")])?;
    if plan.cases() == 10_000 { Ok(()) } else { Err(format!("{} cases", plan.cases())) }
}

gpubench::main!();
