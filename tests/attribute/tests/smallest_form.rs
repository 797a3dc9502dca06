//! A function of nothing but its stream, whatever it returns and however it is written.

use gpubench::{gpu_bench, host};
use gpubench_core::BenchmarkOptions;
use gpubench_records::Counts;

use crate::support::Benchmarks;

#[gpu_bench]
fn nothing(_stream: &host::Stream) {}

#[gpu_bench()]
fn empty_parentheses(_: &host::Stream) -> Result<(), std::fmt::Error> {
    Ok(())
}

#[gpu_bench(cold)]
#[allow(improper_ctypes_definitions)]
pub(crate) extern "C" fn foreign_abi(_stream: host::Stream) -> Result<u32, Box<dyn std::error::Error>> {
    Ok(1)
}

#[gpu_bench]
const fn constant<'a>(_stream: &'a host::Stream) {}

#[gpu_bench]
fn r#type(_stream: &host::Stream) {}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn a_stream_is_enough() {
    for name in ["nothing", "empty_parentheses", "foreign_abi", "constant", "type"] {
        let seen = OURS.run(name);
        assert!(seen.axes.is_empty() && !seen.checked && seen.counts == Counts::default(), "{name}");
    }
    assert_eq!(OURS.entry("nothing").options, BenchmarkOptions::DEFAULT);
    assert_eq!(
        OURS.entry("foreign_abi").options,
        BenchmarkOptions { cold: true, ..BenchmarkOptions::DEFAULT }
    );
}
