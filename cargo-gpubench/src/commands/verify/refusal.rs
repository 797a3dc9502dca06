//! The reasons that Nsight Compute counts nothing. In: what it printed; out: a line for the user.

/// Words in its messages, and what they mean.
const REFUSALS: [(&str, &str); 6] = [
    (
        "ERR_NVGPUCTRPERM",
        "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM; NVIDIA's page of that name tells how to allow it)",
    ),
    ("MIG", "the counters of a GPU that is partitioned (MIG) cannot be read"),
    ("not supported on this device", "this GPU's counters cannot be read, as in most virtual machines"),
    ("vGPU", "the counters of a virtual GPU cannot be read"),
    ("another instance", "another profiler reads the GPU's counters"),
    ("ResourceUnavailable", "another profiler reads the GPU's counters"),
];

/// The beginning of a reason in its own words.
pub(super) const TOLD: &str = "ncu says: ";

/// Returns the reason in what it printed: a known one, else its own first error.
pub(super) fn reason(printed: &str) -> Option<String> {
    let lines: Vec<&str> =
        printed.lines().filter(|line| line.contains("==ERROR==") || line.contains("==WARNING==")).collect();
    let known = REFUSALS.iter().find(|(words, _)| lines.iter().any(|line| line.contains(words)));
    let told = || {
        let error = lines.iter().find_map(|line| line.split_once("==ERROR==").map(|(_, error)| error.trim()));
        error.map(|error| format!("{TOLD}{error}"))
    };
    known.map(|(_, meaning)| (*meaning).to_owned()).or_else(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_in_a_line() {
        for (printed, expected) in [
            (
                "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.",
                "the driver lets only administrators",
            ),
            ("==ERROR== Profiling is not supported on this device", "as in most virtual machines"),
            ("==WARNING== Profiling is not supported on MIG instances", "partitioned (MIG)"),
            (
                "==PROF== Connected\n==ERROR== Failed to find metric foo__bar.sum",
                "ncu says: Failed to find metric foo__bar.sum",
            ),
        ] {
            assert!(reason(printed).expect("it is one").contains(expected), "{printed}");
        }
        assert_eq!(reason("==PROF== Connected to process 1\n\"ERR_NVGPUCTRPERM\""), None);
    }
}
