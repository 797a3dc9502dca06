//! The verdict that each launch function of this program must have.

use end_to_end::caught::Expected::{Is, NotValid};
use end_to_end::caught::{Expected, Group, Needs, line};
use gpubench::record::Cache::{Cold, Hot};
use gpubench::record::State;

const VALID: Expected = Is(State::Valid);
const SUSPECT: Expected = Is(State::Suspect);
const INVALID: Expected = Is(State::Invalid);

const ELSEWHERE: &[&str] = &["work elsewhere: "];
/// Short work on another thread's stream may have ended when the given stream has.
const ELSEWHERE_OR_ANOTHER: &[&str] = &["work elsewhere: ", "launches differ: "];
const WAITS: &[&str] = &["waits for the GPU: "];
const ALLOCATES: &[&str] = &["allocates: "];
const IMPOSSIBLE: &[&str] = &["impossible"];
const ANOTHER: &[&str] = &["launches differ: "];
const OUTPUTS: &[&str] = &["outputs: "];
const FAILED: &[&str] = &["failed call: "];
/// What makes later launches faster.
const LEFT: &[&str] = &["faster on used inputs"];
const CHECK: &[&str] = &["check"];
const CHECK_OR_OUTPUTS: &[&str] = &["check", "outputs: ", "launches differ: "];
const OUTPUTS_OR_LEFT: &[&str] = &["outputs: ", "launches differ: ", "faster on used inputs", "check ("];
const NOTHING: &[&str] = &[];

pub(crate) static GROUPS: &[Group] = &[
    Group {
        title: "taken for something else once",
        lines: &[
            line("default_stream_alone", Hot, "works on the default stream alone", INVALID, ELSEWHERE),
            line(
                "default_stream_beside",
                Hot,
                "works on the default stream beside the given one",
                INVALID,
                ELSEWHERE,
            ),
            line("synchronises", Hot, "waits for its stream", INVALID, WAITS),
            line("synchronises", Cold, "waits for its stream", INVALID, WAITS),
            line("allocates", Hot, "calls cuMemAlloc and cuMemFree", INVALID, ALLOCATES),
            line("allocates", Cold, "calls cuMemAlloc and cuMemFree", INVALID, ALLOCATES),
            line(
                "idles",
                Hot,
                "1 ms of host work between two kernels, cannot be captured",
                SUSPECT,
                &["GPU idle: "],
            )
            .needing(Needs::HostTime),
            line(
                "idles_for_long",
                Hot,
                "5 ms of host work between two kernels, cannot be captured",
                SUSPECT,
                &["GPU idle: "],
            )
            .needing(Needs::HostTime),
            line("claims_twice", Cold, "reads 256 MiB and claims twice that", INVALID, IMPOSSIBLE),
            line(
                "claims_all_changes_half",
                Hot,
                "claims to write 16 MiB and changes 8",
                SUSPECT,
                &["changes only 8 MiB", "changes only 8.0 MiB"],
            ),
            line(
                "fifty_then_one",
                Hot,
                "50 kernels when it is checked, 1 when it is timed",
                INVALID,
                ANOTHER,
            ),
            line("ignores_an_error", Hot, "ignores the error of its second launch", INVALID, FAILED),
            line("negative_times", Hot, "1 % of its times are negative", INVALID, &["broken clock: "]),
            line("beats_a_measured_peak", Hot, "10¹⁴ times a measured peak", INVALID, IMPOSSIBLE),
            line("beats_it_in_two_modes", Hot, "the same, in two modes", INVALID, IMPOSSIBLE),
            line("after_power_cap", Hot, "follows what the power cap held down", VALID, NOTHING)
                .needing(Needs::Sensors),
            line("sorts_in_place", Hot, "sorts in place, without a reset", SUSPECT, LEFT).naming("`reset`"),
            line("sorts_in_place", Cold, "sorts in place, without a reset", SUSPECT, LEFT).naming("`reset`"),
            line("sorts_with_a_larger_scratch", Hot, "the same beside a larger scratch array", SUSPECT, LEFT)
                .naming("`reset`"),
            line("sorts_with_a_useless_reset", Hot, "the same, with a reset of another array", SUSPECT, LEFT)
                .naming("`reset`"),
            line("sorts_little_by_little", Hot, "sorts in its first eight launches", SUSPECT, LEFT)
                .naming("`reset`"),
            line(
                "leaks",
                Hot,
                "cuMemAllocAsync of 1 MiB, and nothing is freed",
                NotValid,
                &["each launch keeps"],
            ),
        ],
    },
    Group {
        title: "written to deceive",
        lines: &[
            line("side_stream", Hot, "works on a stream that nobody waits for", INVALID, ELSEWHERE),
            line(
                "side_stream_later",
                Hot,
                "the same, from its fifth launch on",
                INVALID,
                &["work elsewhere: ", "launches differ: "],
            ),
            line(
                "side_stream_of_priority",
                Hot,
                "works on a stream of higher priority, beside a decoy",
                INVALID,
                ELSEWHERE,
            ),
            line(
                "another_thread",
                Hot,
                "another thread works on its own stream",
                INVALID,
                ELSEWHERE_OR_ANOTHER,
            ),
            line(
                "cached_by_the_host",
                Hot,
                "returns at once from its fifth launch on",
                INVALID,
                &["launches differ: ", "no work on its stream"],
            ),
            line("cached_on_the_device", Hot, "its kernel returns if a flag is set", INVALID, OUTPUTS),
            line(
                "yesterdays_result",
                Hot,
                "its kernel returns if the output looks done; 256 MiB",
                INVALID,
                &["impossible", "outputs: "],
            ),
            // Without a claim, only its time on fresh inputs speaks against it.
            line("yesterdays_result_unclaimed", Hot, "the same without a claim", SUSPECT, LEFT),
            line("lazy", Hot, "queues a closure; the check runs it", INVALID, &["no work on its stream"]),
            line(
                "lazy_with_a_decoy",
                Hot,
                "the same beside a decoy; claims 256 MiB",
                INVALID,
                &["impossible", "outputs: "],
            ),
            line("stale_answer", Hot, "copies a product that it claims to compute", INVALID, IMPOSSIBLE),
            line(
                "right_at_first",
                Hot,
                "another result from its fifth launch on",
                NotValid,
                &["outputs: ", "launches differ: ", "check ("],
            ),
            line("smaller_grid_later", Hot, "one block from its fifth launch on", INVALID, ANOTHER),
            line(
                "fewer_elements_later",
                Hot,
                "a 16th of the elements by the same grid, later",
                INVALID,
                &["outputs: ", "launches differ: "],
            ),
            line("another_kernel_later", Hot, "another kernel from its fifth launch on", INVALID, ANOTHER),
            line(
                "fewer_bytes_later",
                Hot,
                "copies a 16th of the bytes, later",
                INVALID,
                &["outputs: ", "launches differ: "],
            ),
            line("less_when_captured", Hot, "a decoy whenever its stream is captured", INVALID, ANOTHER),
            line("copies_and_waits", Hot, "copies to the host, and waits for that", INVALID, WAITS),
            line("waits_for_an_event", Hot, "waits for an event behind its kernel", INVALID, WAITS),
            line("asks_until_done", Hot, "asks its stream until that is done", INVALID, WAITS),
            line("frees", Hot, "calls cuMemAllocAsync and cuMemFree", INVALID, ALLOCATES),
            line("loads_a_module", Hot, "loads a module, and unloads it", INVALID, &["loads code: "]),
            line("leaves_another_context", Hot, "leaves another context current", INVALID, &["context"]),
            line("calls_the_host", Hot, "calls the host, undeclared", SUSPECT, &["host functions: "]),
            line("ignores_an_error_later", Hot, "ignores errors from its fifth launch on", INVALID, FAILED),
            line("other_precision", Hot, "claims f64 and computes in f32", INVALID, IMPOSSIBLE),
            line(
                "fewer_elements_later_checked",
                Hot,
                "a 16th of the elements from its fifth launch on, with a check",
                NotValid,
                CHECK_OR_OUTPUTS,
            ),
            line(
                "fewer_elements_by_a_static",
                Hot,
                "the same, counted in a static",
                NotValid,
                CHECK_OR_OUTPUTS,
            ),
            line(
                "cached_by_its_pointer",
                Hot,
                "a 16th of the elements if it has seen its output's address",
                NotValid,
                OUTPUTS_OR_LEFT,
            ),
            line(
                "garbage_by_a_static",
                Hot,
                "another result from the process's second launch on",
                NotValid,
                CHECK,
            ),
            line(
                "garbage_after_the_first",
                Hot,
                "another result from its second launch on",
                NotValid,
                CHECK_OR_OUTPUTS,
            ),
        ],
    },
    Group {
        title: "as they should be",
        lines: &[
            line("sets_flags_of_the_context", Hot, "changes how the host waits", VALID, NOTHING),
            line("gives_up_what_the_l2_keeps", Hot, "calls cuCtxResetPersistingL2Cache", VALID, NOTHING),
            line("several_kernels", Hot, "five kernels in a row", VALID, NOTHING),
            line("forks_and_joins", Hot, "two streams, joined by an event", VALID, NOTHING),
            line("copies_on_the_device", Hot, "cuMemcpyDtoDAsync", VALID, NOTHING),
            line("copies_on_the_device", Cold, "cuMemcpyDtoDAsync", VALID, NOTHING),
            line("sets_memory", Hot, "cuMemsetD32Async", VALID, NOTHING),
            line("sums_in_any_order", Hot, "sums of f32 by atomics, with a check", VALID, NOTHING),
            line("changes_in_place", Hot, "adds in place, with a reset", VALID, NOTHING),
            line("accumulates", Hot, "adds in place, declared", VALID, NOTHING),
            line("writes_zeros", Hot, "writes zeros over zeros", VALID, NOTHING),
            line("allocates_on_its_stream", Hot, "cuMemAllocAsync and cuMemFreeAsync", VALID, NOTHING),
            line("allocates_at_first", Hot, "allocates and loads in its first launch", VALID, NOTHING),
            line("declares_its_host_work", Hot, "calls the host, declared", VALID, NOTHING),
            line("graph_of_its_own", Hot, "launches a graph of two kernels", VALID, NOTHING),
            line("arithmetic", Hot, "nothing but arithmetic", VALID, NOTHING),
            line("feeds_on_itself", Hot, "adds to what its last launch left, undeclared", VALID, NOTHING),
            line("adds_to_its_output", Hot, "y += a·x, with a check of one launch", VALID, NOTHING),
            line("jacobi_swaps", Hot, "a Jacobi step; x and y change places", VALID, NOTHING),
            line("jacobi_swaps", Cold, "a Jacobi step; x and y change places", VALID, NOTHING),
            line("jacobi_swaps_once_more", Hot, "the same, after a step in setup", VALID, NOTHING),
            line("jacobi_swaps_unchecked", Hot, "the same, without a check", VALID, NOTHING),
            line("ring_of_three", Hot, "a step in a ring of three buffers", VALID, NOTHING),
            line("ring_of_four", Hot, "a step in a ring of four buffers", VALID, NOTHING),
            line("three_outputs_in_turn", Hot, "copies to three arrays in turn", VALID, NOTHING),
            line(
                "converges_in_two_buffers",
                Hot,
                "y = x/2 + 1 until nothing changes; x and y change places",
                VALID,
                NOTHING,
            ),
            line(
                "converges_to_what_y_held",
                Hot,
                "the same, with the solution in y at first",
                VALID,
                NOTHING,
            ),
            line("converged_before_it_began", Hot, "the same, with the solution in both", VALID, NOTHING),
            line("converges_in_place", Hot, "x = x/2 + 1 until nothing changes", VALID, NOTHING),
            line(
                "histogram_without_a_reset",
                Hot,
                "counts by atomics and adds to the counts before, with a check",
                VALID,
                NOTHING,
            ),
            line(
                "sums_without_a_reset",
                Hot,
                "sums of f32 by atomics, added to the sum before, with a check",
                VALID,
                NOTHING,
            ),
            line("appends_to_a_cache", Hot, "each launch writes the next 64 KiB of 16 MiB", VALID, NOTHING),
            line(
                "random_inputs",
                Hot,
                "each setup makes other inputs; a check computes the outputs again",
                VALID,
                NOTHING,
            ),
            line(
                "other_values_within_bounds",
                Hot,
                "other values each time, within the check's bounds",
                VALID,
                NOTHING,
            ),
            line(
                "compiles_at_first",
                Hot,
                "its first launch on new inputs takes the host 20 ms",
                VALID,
                NOTHING,
            ),
            line("sorts_with_a_reset", Hot, "sorts in place, with a reset", VALID, NOTHING),
            line("sorts_with_a_reset", Cold, "sorts in place, with a reset", VALID, NOTHING),
            line(
                "sorts_with_scratch_and_a_reset",
                Hot,
                "the same beside a larger scratch array",
                VALID,
                NOTHING,
            ),
        ],
    },
];
