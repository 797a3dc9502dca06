//! The verdict that each launch here must have, written before gpubench was made to give it. In: nothing; out: groups of lines,
//! each a launch with its cache state, a description, a verdict, and words of which its reasons have one at least.

use gpubench::method::Cache::{self, Cold, Hot};
use gpubench::verdict::State::{self, Invalid, Suspect, Valid};

/// A launch, and what must be said of it.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) cache: Cache,
    /// What the launch does, for people.
    pub(crate) does: &'static str,
    pub(crate) expected: State,
    /// Words of which its reasons must have one; none where it is valid.
    pub(crate) says: &'static [&'static str],
    /// What a device must have for this to be seen.
    pub(crate) needs: Needs,
}

/// What the stand-in for a GPU may not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The host's time passes on the device too.
    HostTime,
    /// A sensor that reports what held the clock down.
    Sensors,
}

/// Lines that belong together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) lines: &'static [Line],
}

const fn line(
    name: &'static str,
    cache: Cache,
    does: &'static str,
    expected: State,
    says: &'static [&'static str],
) -> Line {
    Line { name, cache, does, expected, says, needs: Needs::Nothing }
}

const fn needing(needs: Needs, line: Line) -> Line {
    Line { needs, ..line }
}

const ELSEWHERE: &[&str] = &["work elsewhere: "];
/// Short work on another thread's stream may have ended when the given stream has.
const ELSEWHERE_OR_ANOTHER: &[&str] = &["work elsewhere: ", "another launch: "];
const WAITS: &[&str] = &["waits for the GPU: "];
const ALLOCATES: &[&str] = &["allocates: "];
const IMPOSSIBLE: &[&str] = &["impossible"];
const ANOTHER: &[&str] = &["another launch: "];
const OUTPUTS: &[&str] = &["outputs: "];
const FAILED: &[&str] = &["failed call: "];
const NOTHING: &[&str] = &[];

pub(crate) static GROUPS: &[Group] = &[
    Group {
        title: "taken for something else once",
        lines: &[
            line("default_stream_alone", Hot, "works on the default stream alone", Invalid, ELSEWHERE),
            line(
                "default_stream_beside",
                Hot,
                "works on the default stream beside the given one",
                Invalid,
                ELSEWHERE,
            ),
            line("synchronises", Hot, "waits for its stream", Invalid, WAITS),
            line("synchronises", Cold, "waits for its stream", Invalid, WAITS),
            line("allocates", Hot, "calls cuMemAlloc and cuMemFree", Invalid, ALLOCATES),
            line("allocates", Cold, "calls cuMemAlloc and cuMemFree", Invalid, ALLOCATES),
            needing(
                Needs::HostTime,
                line(
                    "idles",
                    Hot,
                    "1 ms of host work between two kernels, cannot be captured",
                    Suspect,
                    &["GPU idle: "],
                ),
            ),
            needing(
                Needs::HostTime,
                line(
                    "idles_for_long",
                    Hot,
                    "5 ms of host work between two kernels, cannot be captured",
                    Suspect,
                    &["GPU idle: "],
                ),
            ),
            line("claims_twice", Cold, "reads 256 MiB and claims twice that", Invalid, IMPOSSIBLE),
            line(
                "claims_all_changes_half",
                Hot,
                "claims to write 16 MiB and changes 8",
                Suspect,
                &["changes 8 MiB", "changes 8.0 MiB"],
            ),
            line(
                "fifty_then_one",
                Hot,
                "50 kernels when it is checked, 1 when it is timed",
                Invalid,
                ANOTHER,
            ),
            line("ignores_an_error", Hot, "ignores the error of its second launch", Invalid, FAILED),
            line("negative_times", Hot, "1 % of its times are negative", Invalid, &["broken clock: "]),
            line("beats_a_measured_peak", Hot, "10¹⁴ times a measured peak", Invalid, IMPOSSIBLE),
            line("beats_it_in_two_modes", Hot, "the same, in two modes", Invalid, IMPOSSIBLE),
            needing(
                Needs::Sensors,
                line("after_power_cap", Hot, "follows what the power cap held down", Valid, NOTHING),
            ),
        ],
    },
    Group {
        title: "written to deceive",
        lines: &[
            line("side_stream", Hot, "works on a stream that nobody waits for", Invalid, ELSEWHERE),
            line(
                "side_stream_later",
                Hot,
                "the same, from its fifth launch on",
                Invalid,
                &["work elsewhere: ", "another launch: "],
            ),
            line(
                "side_stream_of_priority",
                Hot,
                "works on a stream of higher priority, beside a decoy",
                Invalid,
                ELSEWHERE,
            ),
            line(
                "another_thread",
                Hot,
                "another thread works on its own stream",
                Invalid,
                ELSEWHERE_OR_ANOTHER,
            ),
            line(
                "cached_by_the_host",
                Hot,
                "returns at once from its fifth launch on",
                Invalid,
                &["another launch: ", "no work on its stream"],
            ),
            line("cached_on_the_device", Hot, "its kernel returns if a flag is set", Invalid, OUTPUTS),
            line(
                "yesterdays_result",
                Hot,
                "its kernel returns if the output looks done; 256 MiB",
                Invalid,
                &["impossible", "outputs: "],
            ),
            // Without a claim, only its own time without that output speaks against it.
            line("yesterdays_result_unclaimed", Hot, "the same without a claim", Suspect, OUTPUTS),
            line("lazy", Hot, "queues a closure; the check runs it", Invalid, &["no work on its stream"]),
            line(
                "lazy_with_a_decoy",
                Hot,
                "the same beside a decoy; claims 256 MiB",
                Invalid,
                &["impossible", "outputs: "],
            ),
            line("stale_answer", Hot, "copies a product that it claims to compute", Invalid, IMPOSSIBLE),
            // Nothing tells a mistake from intent: not invalid.
            line("feeds_on_itself", Hot, "adds to what its last launch left, undeclared", Suspect, OUTPUTS),
            line(
                "right_at_first",
                Hot,
                "another result from its fifth launch on",
                Invalid,
                &["outputs: ", "another launch: ", "check ("],
            ),
            line("smaller_grid_later", Hot, "one block from its fifth launch on", Invalid, ANOTHER),
            line(
                "fewer_elements_later",
                Hot,
                "a 16th of the elements by the same grid, later",
                Invalid,
                &["outputs: ", "another launch: "],
            ),
            line("another_kernel_later", Hot, "another kernel from its fifth launch on", Invalid, ANOTHER),
            line(
                "fewer_bytes_later",
                Hot,
                "copies a 16th of the bytes, later",
                Invalid,
                &["outputs: ", "another launch: "],
            ),
            line("less_when_captured", Hot, "a decoy whenever its stream is captured", Invalid, ANOTHER),
            line("copies_and_waits", Hot, "copies to the host, and waits for that", Invalid, WAITS),
            line("waits_for_an_event", Hot, "waits for an event behind its kernel", Invalid, WAITS),
            line("asks_until_done", Hot, "asks its stream until that is done", Invalid, WAITS),
            line("frees", Hot, "calls cuMemAllocAsync and cuMemFree", Invalid, ALLOCATES),
            line("loads_a_module", Hot, "loads a module, and unloads it", Invalid, &["loads code: "]),
            line("leaves_another_context", Hot, "leaves another context current", Invalid, &["context"]),
            line("calls_the_host", Hot, "calls the host, undeclared", Suspect, &["host functions: "]),
            line("ignores_an_error_later", Hot, "ignores errors from its fifth launch on", Invalid, FAILED),
            line("other_precision", Hot, "claims f64 and computes in f32", Invalid, IMPOSSIBLE),
        ],
    },
    Group {
        title: "as they should be",
        lines: &[
            line("sets_flags_of_the_context", Hot, "changes how the host waits", Valid, NOTHING),
            line("gives_up_what_the_l2_keeps", Hot, "calls cuCtxResetPersistingL2Cache", Valid, NOTHING),
            line("several_kernels", Hot, "five kernels in a row", Valid, NOTHING),
            line("forks_and_joins", Hot, "two streams, joined by an event", Valid, NOTHING),
            line("copies_on_the_device", Hot, "cuMemcpyDtoDAsync", Valid, NOTHING),
            line("copies_on_the_device", Cold, "cuMemcpyDtoDAsync", Valid, NOTHING),
            line("sets_memory", Hot, "cuMemsetD32Async", Valid, NOTHING),
            line("sums_in_any_order", Hot, "sums of f32 by atomics, with a check", Valid, NOTHING),
            line("changes_in_place", Hot, "adds in place, with a reset", Valid, NOTHING),
            line("accumulates", Hot, "adds in place, declared", Valid, NOTHING),
            line("writes_zeros", Hot, "writes zeros over zeros", Valid, NOTHING),
            line("allocates_on_its_stream", Hot, "cuMemAllocAsync and cuMemFreeAsync", Valid, NOTHING),
            line("allocates_at_first", Hot, "allocates and loads in its first launch", Valid, NOTHING),
            line("declares_its_host_work", Hot, "calls the host, declared", Valid, NOTHING),
            line("graph_of_its_own", Hot, "launches a graph of two kernels", Valid, NOTHING),
            line("arithmetic", Hot, "nothing but arithmetic", Valid, NOTHING),
        ],
    },
];
