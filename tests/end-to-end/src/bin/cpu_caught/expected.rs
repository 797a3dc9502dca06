//! The verdict that each launch function must get. Other programs share the processor, so that an honest one may also be suspect
//! for a reason that noise explains.

use end_to_end::caught::Expected::{Is, NotInvalid, NotValid};
use end_to_end::caught::{Group, line};
use gpubench::record::Cache::{Cold, Hot};
use gpubench::record::State;

const NOTHING: &[&str] = &[];
/// What makes later launches faster.
const LEFT: &[&str] = &["faster on used inputs"];
const CHECK: &[&str] = &["check"];
/// Work that is not there, by any of its signs.
const NO_WORK: &[&str] = &["no work", "black_box", "impossible"];
const NO_WORK_OR_LEFT: &[&str] = &["no work", "black_box", "impossible", "faster on used inputs"];
const LESS_WORK: &[&str] =
    &["no work", "black_box", "impossible", "faster on used inputs", "check", "launches differ", "outputs"];
const TOO_MUCH: &[&str] = &["impossible", "claims", "black_box", "no work"];
const ELSEWHERE: &[&str] = &["thread", "work elsewhere", "no work", "black_box", "impossible"];

pub(crate) static GROUPS: &[Group] = &[
    Group {
        title: "mistaken",
        lines: &[
            line("ignores_its_stream", Hot, "fills its output without `run`", NotValid, &["no work"])
                .naming("`stream.run`"),
            line("loop_is_removed", Hot, "its loop is not in the optimised program", NotValid, NO_WORK)
                .naming("black_box"),
            line("does_nothing", Hot, "declares 4 MiB and has no body", NotValid, NO_WORK),
            line("sorts_in_place", Hot, "sorts in place, without a reset", NotValid, LEFT).naming("`reset`"),
            line("sorts_in_place", Cold, "sorts in place, without a reset", NotValid, LEFT).naming("`reset`"),
            line("sorts_with_a_larger_scratch", Hot, "the same with a larger scratch array", NotValid, LEFT)
                .naming("`reset`"),
            line(
                "sorts_with_a_useless_reset",
                Hot,
                "the same, with a reset of another array",
                NotValid,
                LEFT,
            )
            .naming("`reset`"),
            line(
                "declares_a_thousand_times",
                Hot,
                "declares 1000 times the bytes that it moves",
                NotValid,
                TOO_MUCH,
            ),
            line("spawns_a_thread", Hot, "spawns a thread, and does not wait for it", NotValid, CHECK),
        ],
    },
    Group {
        title: "written to deceive",
        lines: &[
            line(
                "remembers_in_a_static",
                Hot,
                "returns an earlier sum, kept in a static",
                NotValid,
                NO_WORK_OR_LEFT,
            ),
            line(
                "remembers_in_its_inputs",
                Hot,
                "returns an earlier sum, kept in its inputs",
                NotValid,
                NO_WORK_OR_LEFT,
            ),
            line("remembers_undeclared", Hot, "the same, without declared bytes", NotValid, NO_WORK_OR_LEFT),
            line(
                "another_thread_works",
                Hot,
                "another thread works, and nobody waits for it",
                NotValid,
                ELSEWHERE,
            ),
            line("lazy", Hot, "queues a closure; the check runs it", NotValid, NO_WORK),
            line(
                "fewer_elements_later",
                Hot,
                "a 16th of the elements from its fifth launch on",
                NotValid,
                LESS_WORK,
            ),
            line("fewer_elements_by_a_static", Hot, "the same, counted in a static", NotValid, CHECK),
            line(
                "cached_by_its_pointer",
                Hot,
                "a 16th of the elements if it has seen its output's address",
                NotValid,
                LESS_WORK,
            ),
            line(
                "returns_at_once_later",
                Hot,
                "returns at once from its fifth launch on",
                NotValid,
                LESS_WORK,
            ),
            line(
                "garbage_by_a_static",
                Hot,
                "another result from the process's second launch on",
                NotValid,
                CHECK,
            ),
        ],
    },
    Group {
        title: "as they should be",
        lines: &[
            line("copies", Hot, "copies an array", NotInvalid, NOTHING),
            line("copies", Cold, "copies an array", NotInvalid, NOTHING),
            line("adds_to_its_output", Hot, "y += a·x, with a check of one launch", NotInvalid, NOTHING),
            line("jacobi_swaps", Hot, "a Jacobi step; x and y change places", NotInvalid, NOTHING),
            line("jacobi_swaps", Cold, "a Jacobi step; x and y change places", NotInvalid, NOTHING),
            line("ring_of_three", Hot, "a step in a ring of three buffers", NotInvalid, NOTHING),
            line("ring_of_four", Hot, "a step in a ring of four buffers", NotInvalid, NOTHING),
            line(
                "converges_in_two_buffers",
                Hot,
                "y = x/2 + 1 until nothing changes; x and y change places",
                NotInvalid,
                NOTHING,
            ),
            line("converges_in_place", Hot, "x = x/2 + 1 until nothing changes", NotInvalid, NOTHING),
            line("sorts_with_a_reset", Hot, "sorts in place, with a reset", NotInvalid, NOTHING),
            line("sorts_with_a_reset", Cold, "sorts in place, with a reset", NotInvalid, NOTHING),
            line("sums_in_parallel", Hot, "all threads sum 1 MiB", NotInvalid, NOTHING),
            line(
                "writes_what_nobody_touched",
                Hot,
                "its first launch touches its output first",
                NotInvalid,
                NOTHING,
            ),
            line(
                "allocates_and_frees",
                Hot,
                "allocates scratch in each launch, and frees it",
                NotInvalid,
                NOTHING,
            ),
            line(
                "moves_particles",
                Hot,
                "a type of the user's; no check and nothing declared",
                NotInvalid,
                NOTHING,
            ),
            line("sums_up_in_one_thread", Hot, "a loop of one thread", NotInvalid, NOTHING),
            line(
                "random_inputs",
                Hot,
                "each setup makes other inputs; a check computes the outputs again",
                NotInvalid,
                NOTHING,
            ),
            line(
                "histogram_without_a_reset",
                Hot,
                "adds to the counts before, with a check",
                NotInvalid,
                NOTHING,
            ),
            line(
                "appends_to_a_cache",
                Hot,
                "each launch writes the next 64 KiB of 4 MiB",
                NotInvalid,
                NOTHING,
            ),
            line(
                // Without a copy of its memory, this cannot be told from a launch that consumes its inputs.
                "compiles_at_first",
                Hot,
                "its first launch on new inputs takes 20 ms more",
                Is(State::Suspect),
                LEFT,
            ),
            line(
                "other_values_within_bounds",
                Hot,
                "other values each time, within the check's bounds",
                NotInvalid,
                NOTHING,
            ),
            line("arithmetic", Hot, "nothing but arithmetic", NotInvalid, NOTHING),
        ],
    },
];
