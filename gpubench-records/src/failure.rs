//! The failure of one case. In: an error of the user's code, of a device, or a panic; out: one sentence with
//! the stage it happened in, which becomes the case's row. A failure costs its case and nothing else.

use std::fmt::{self, Display};

use gpubench_stats::format;

gpubench_stats::stored! {
    /// The part of a case's protocol in which something happened.
    #[derive(Copy, Eq, PartialOrd, Ord)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Stage {
        /// Evaluating the benchmark's `args`.
        Args,
        /// Opening the device or making its stream.
        Device,
        /// The user's `setup`.
        Setup,
        /// A call of the launch function.
        Launch,
        /// The user's `reset`.
        Reset,
        /// The user's `check` of the outputs.
        Check,
        /// The user's `bytes`, `reads`, `writes` or `flops`.
        Counts,
        /// Warming up and sampling.
        Sampling,
        /// The worker process itself.
        Worker,
    }

    /// The progress of a case: the step, and the number of launches or samples so far.
    #[derive(Copy, Eq)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum Step {
        /// The user's `setup`.
        Setup,
        /// The user's `reset` before the checked launch.
        Reset,
        /// The user's counts.
        Counts,
        /// The one launch whose outputs are checked.
        CheckedLaunch,
        /// The user's `check`.
        Check,
        /// The device's preparation: capture of a launch, proof of the flush, and the timer.
        Preparation,
        /// The warm-up, with the number of launches so far.
        WarmUp(usize),
        /// Sampling, with the number of samples so far.
        Samples(usize),
        /// The measurements after the last sample, with the number of samples.
        Afterwards(usize),
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup => f.write_str("setup"),
            Self::Reset => f.write_str("reset"),
            Self::Counts => f.write_str("counts"),
            Self::CheckedLaunch => f.write_str("checked launch"),
            Self::Check => f.write_str("check"),
            Self::Preparation => f.write_str("before the warm-up"),
            Self::WarmUp(0) => f.write_str("first launches of the warm-up"),
            Self::WarmUp(launches) => write!(f, "warm-up, after {}", format::counted(*launches, "launch")),
            Self::Samples(0) => f.write_str("first samples"),
            Self::Samples(taken) => write!(f, "after {}", format::counted(*taken, "sample")),
            Self::Afterwards(taken) => write!(f, "after all {}", format::counted(*taken, "sample")),
        }
    }
}

gpubench_stats::stored! {
    /// The reason that a case has no result.
    #[derive(Eq)]
    #[non_exhaustive]
    pub struct Failure {
        /// The stage of the protocol in which it happened.
        pub stage: Stage,
        /// The progress of the case, if it says more than the stage.
        pub step: Option<Step>,
        /// The error, in the words of the driver, the user's code or gpubench.
        pub message: String,
    }
}

impl std::error::Error for Failure {}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stage, step, message } = self;
        match step {
            None => write!(f, "{stage}: {message}"),
            // A worker reports its samples only now and then, and may have taken more.
            Some(step @ Step::Samples(1..)) if *stage == Stage::Worker => {
                write!(f, "{stage} ({step} or more): {message}")
            }
            Some(step) => write!(f, "{stage} ({step}): {message}"),
        }
    }
}

impl Failure {
    /// A failure of `stage` that reads as `message`, or says that there is none.
    pub fn new(stage: Stage, message: impl Display) -> Self {
        let message = message.to_string();
        let is_empty = message.trim().is_empty();
        Self {
            stage,
            step: None,
            message: if is_empty { "an error without a message".to_owned() } else { message },
        }
    }

    /// The same failure in other words.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The same failure, of a case that had reached `step`.
    #[must_use]
    pub fn at(self, step: Step) -> Self {
        Self { step: self.step.or(Some(step)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_message_is_told_as_one() {
        for empty in ["", " \n"] {
            assert_eq!(Failure::new(Stage::Setup, empty).to_string(), "setup: an error without a message");
        }
        assert_eq!(Failure::new(Stage::Setup, "no").to_string(), "setup: no");
    }
}
