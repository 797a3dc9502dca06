//! What measures: the exports of feature `runtime`.

use std::process::ExitCode;

pub use gpubench_records::Exit;
pub use gpubench_runner::{Error, Progress, RunEvent, RunEvents, Settings, Suite};
pub use gpubench_stats::{format, units};
#[cfg(feature = "tune")]
pub use gpubench_tune as tuning;

/// The values of [`Settings`].
pub mod settings {
    pub use gpubench_records::HeatLevel;
    pub use gpubench_records::comparison::Threshold;
    pub use gpubench_records::id::BenchmarkId;
    pub use gpubench_records::{Part, ShareMode};
    pub use gpubench_runner::{
        ArgValues, CacheStates, FlushChoice, PathChoice, Percent, RunsDir, ShareChoice, StatedPeak, Verifier,
        WarmUp,
    };
    pub use gpubench_runtime::device::ClockTarget;
}

/// The jobs of a run, which [`RunEvents`] receives.
pub mod plan {
    pub use gpubench_runner::Plan;
    pub use gpubench_runtime::{Job, JobStatus, SharedResource};
}

/// A run, its records, and their verdicts. The crate `gpubench-records` has the types of every field.
pub mod record {
    pub use gpubench_records::method::Cache;
    pub use gpubench_records::record::{Measurement, Record, Run};
    pub use gpubench_records::verdict::{Reason, State, Verdict};
}

/// What a device is: its name, its sizes and its peaks.
pub mod device_info {
    pub use gpubench_records::device_info::{DeviceInfo, Peak, PeakSource, Quantity, UUID, Value};
}

/// The texts of a run: its table, its explanations, and the formats that other programs read.
pub mod report {
    pub use gpubench_table::export::Format;
    pub use gpubench_table::{Page, explain, render};
}

/// The statistics of samples.
pub mod stats {
    pub use gpubench_stats::{Interval, Summary, median, quantile};
}

/// Devices of your own. These traits may change in any release.
#[cfg(feature = "unstable-device")]
pub mod device {
    pub use gpubench_records::{
        conditions::Reading,
        failure::{Failure, Stage},
        method::{Cache, Flush, Method, Path, Timer},
    };
    pub use gpubench_runtime::device::*;
    pub use gpubench_runtime::method::{
        AnyWork, SamplingSetup, choose_flush, median_time, pair_sampler, sampler, time_once, timer,
    };
}

/// The `main` of a program of your own that measures: it is handed the [`Suite`] of the benchmarks that are linked, and
/// reads the runs that come of it.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// use gpubench::settings::{ArgValues, Percent};
/// use gpubench::{Settings, gpu_bench, host};
///
/// #[gpu_bench(args(n = [1 << 20]), setup = |n| Ok(vec![1_u8; n]), bytes = 2 * x.len())]
/// fn reverse(x: &mut [u8], stream: &host::Stream) {
///     stream.run(|| x.reverse());
/// }
///
/// fn main() -> ExitCode {
///     gpubench::program(|suite| {
///         for n in [1 << 12, 1 << 16, 1 << 20] {
///             let settings = Settings {
///                 filter: vec!["reverse".into()],
///                 arg: vec![ArgValues::new("n", [n])],
///                 precision: Some(Percent(1.0)),
///                 ..Settings::default()
///             };
///             let run = suite.measure(&settings)?;
///             let measured = run.records[0].measurement.as_ref().ok_or("it failed")?;
///             println!("{n}: {}", gpubench::format::time(measured.median()));
///         }
///         Ok(())
///     })
/// }
/// ```
///
/// Measuring prints nothing; [`Suite::measure_with`] and [`Progress`] show how far it is. An error that `body` returns is
/// printed on standard error. An [`Error`] has its own exit code, as it has in a suite; any other ends with 1.
///
/// A worker process of this program comes here too, and measures instead of calling `body`.
pub fn program(body: impl FnOnce(&Suite) -> Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    let this = std::env::current_exe().unwrap_or_default();
    let name = this.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    gpubench_runner::__private::program(gpubench_runtime::__private::build(None, &name), body)
}

/// Registers a device of your own, a [`DeviceKind`](device::DeviceKind), so that its benchmarks are measured.
///
/// ```ignore
/// gpubench::device_kind!(DeviceKind::new::<Coprocessor>());
/// ```
#[cfg(feature = "unstable-device")]
#[macro_export]
macro_rules! device_kind {
    ($kind:expr) => {
        $crate::__private::inventory::submit! { $kind }
    };
}

/// Runs a benchmark binary, with the races of feature `tune`.
#[doc(hidden)]
pub fn main(program: gpubench_records::record::Program, bench_target: bool) -> ExitCode {
    #[cfg(feature = "tune")]
    let extension = Some(gpubench_tune::extension());
    #[cfg(not(feature = "tune"))]
    let extension = None;
    gpubench_runner::__private::main(program, bench_target, extension)
}
