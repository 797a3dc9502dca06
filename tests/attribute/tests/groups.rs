//! Options of a group hold for its benchmarks unless they have their own; a group that is only a name has none.

use gpubench::{Group, gpu_bench, group, host};
use gpubench_core::BenchmarkOptions;
use gpubench_records::Link;

use crate::support::Benchmarks;

group!(
    TRANSFERS,
    cold,
    max_time = 0.5,
    tags = ["bus", "slow"],
    link = h2d,
    data_type = "f64",
    timeout = 2,
    ignore,
    energy
);

mod elsewhere {
    gpubench::group!(
        /// Shown otherwise than it is called.
        pub(crate) NAMED = "two words",
        crate = ::gpubench,
    );
}

#[gpu_bench(group = TRANSFERS)]
fn as_the_group(_stream: &host::Stream) {}

#[gpu_bench(
    group = TRANSFERS, cold = false, max_time = 1, tags = ["own"], link = d2h, data_type = "f16", timeout = 3,
    ignore = false, energy = false
)]
fn otherwise(_stream: &host::Stream) {}

#[gpu_bench(group = elsewhere::NAMED, cold = true)]
fn named(_stream: &host::Stream) {}

#[gpu_bench(group = "text", name = "shown")]
fn only_a_name(_stream: &host::Stream) {}

/// The benchmarks of this module.
const OURS: Benchmarks = Benchmarks::of(module_path!());

#[test]
fn benchmarks_say_more_than_their_group() {
    let options = |name| OURS.entry(name).options;
    let group = BenchmarkOptions {
        cold: true,
        energy: true,
        max_time: Some(0.5),
        timeout: Some(2.0),
        data_type: "f64",
        ignore: true,
        group: Some("transfers"),
        group_tags: &["bus", "slow"],
        link: Some(Link::H2d),
        ..BenchmarkOptions::DEFAULT
    };
    assert_eq!(options("as_the_group"), group);
    let own = BenchmarkOptions {
        cold: false,
        energy: false,
        max_time: Some(1.0),
        timeout: Some(3.0),
        data_type: "f16",
        ignore: false,
        tags: &["own"],
        link: Some(Link::D2h),
        ..group
    };
    assert_eq!(options("otherwise"), own);
    assert!(own.has_tag("own") && own.has_tag("bus") && !own.has_tag("nightly"));
    let named = BenchmarkOptions { cold: true, group: Some("two words"), ..BenchmarkOptions::DEFAULT };
    assert_eq!(options("named"), named);
    assert_eq!(OURS.entry("named").path(), concat!(module_path!(), "::two words::named"));
    assert_eq!(OURS.entry("shown").path(), concat!(module_path!(), "::text::shown"));
    assert_eq!(options("shown").group, Some("text"));
    let _: Group = TRANSFERS;
}
