//! A run and its meaning, live or stored: records, their metrics and verdicts, comparisons, and the files that keep
//! them. Nothing here measures or prints.
//!
//! [`samples`] → [`metrics`] → [`limits`] → [`verdict`] → [`record`] → [`merge`], [`comparison`] and [`baseline`], and
//! [`files`] keeps them on disk.

pub mod baseline;
pub mod clock_faults;
pub mod comparison;
pub mod conditions;
pub mod cool_down;
pub mod counts;
pub mod device_info;
mod display;
pub mod environment;
pub mod exit;
pub mod failure;
pub mod files;
pub mod gate;
pub mod id;
pub mod launch;
pub mod limits;
pub mod merge;
pub mod method;
pub mod metrics;
pub mod observation;
pub mod raw;
pub mod record;
pub mod relaunch;
pub mod samples;
pub mod sampling;
pub mod selection;
mod slowdown;
pub mod task;
pub mod text;
pub mod threads;
pub mod verdict;
pub mod verification;
pub mod work;

pub use self::{
    clock_faults::ClockFaults,
    comparison::{Answer, AssumedSpread, BaselineComparison, CaseFinding, Comparison, Finding, Threshold},
    conditions::{DeviceClock, GroupClock, Reading, SensorRange, SensorReadings},
    cool_down::{CoolDown, HeatLevel},
    device_info::{DeviceInfo, Peak, PeakSource, Property, Quantity, Value},
    environment::Environment,
    exit::Exit,
    failure::{Failure, Stage, Step},
    files::ceilings::Ceiling,
    files::{Destination, EarlierRun, FormatError, ReadError, Stored},
    gate::{GateOutcome, GatedCase},
    id::{Arg, BenchmarkId, CaseId, DeviceId, PlannedCase},
    launch::{Kernel, LaunchInfo, Multiprocessors, Written},
    limits::DeclaredWork,
    method::{Cache, Flush, FlushVerification, Method, Path, Timer},
    metrics::Metrics,
    observation::Observation,
    record::{Compared, Measurement, Package, Program, Record, Run},
    relaunch::{Relaunch, Reuse, Rewritten},
    samples::{Energy, EnergyMeasurement, GroupOverhead, Samples, WarmUp},
    sampling::Sampling,
    selection::{ArgValues, CaseSelection, NameFilter},
    task::{Part, ShareMode, Task},
    verdict::{Reason, State, Verdict},
    verification::{
        Counters, CuptiPass, CuptiTimes, Difference, NcuPass, Slowdown, TracedActivity, Verification,
    },
};
