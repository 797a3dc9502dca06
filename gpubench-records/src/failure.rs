//! The failure of one case: an error of the user's code or of a device, or a panic, with the stage and the step in which it happened. Other
//! cases are still measured.

use std::fmt::Display;

use gpubench_stats::format;

gpubench_stats::stored! {
    /// The part of a case's protocol in which something happened.
    #[derive(Copy, Eq, PartialOrd, Ord)]
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
    #[derive(Copy, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum Step {
        /// The user's `setup`.
        #[error("setup")]
        Setup,
        /// The user's `reset` before the checked launch.
        #[error("reset")]
        Reset,
        /// The user's counts.
        #[error("counts")]
        Counts,
        /// The one launch whose outputs are checked.
        #[error("first launch")]
        CheckedLaunch,
        /// The user's `check`.
        #[error("check")]
        Check,
        /// The wait before a case until the device is cool.
        #[error("waiting for the device to cool")]
        CoolDown,
        /// The device's preparation: capture of a launch, flush verification, and the timer.
        #[error("before the warm-up")]
        Preparation,
        /// The warm-up, with the number of launches so far.
        #[error("warm-up, after {}", format::counted(*.0, "launch"))]
        WarmUp(usize),
        /// Sampling, with the number of samples so far.
        #[error("after {}", format::counted(*.0, "sample"))]
        Samples(usize),
        /// The measurements after the last sample, with the number of samples.
        #[error("after {}", format::counted(*.0, "sample"))]
        Afterwards(usize),
    }

    /// The reason that a case has no result.
    #[derive(Eq, thiserror::Error)]
    #[error("{}: {message}", match (stage, step) {
        (_, None) => stage.to_string(),
        // A worker reports its samples only now and then, and may have taken more.
        (Stage::Worker, Some(step @ Step::Samples(1..))) => format!("{step} or more"),
        (Stage::Worker, Some(step)) | (Stage::Launch, Some(step @ Step::CheckedLaunch)) => step.to_string(),
        (_, Some(step)) => format!("{stage} ({step})"),
    })]
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

impl Failure {
    /// Creates a failure in `stage` with this message, or with a placeholder if the message is empty, and
    /// without a step.
    pub fn new(stage: Stage, message: impl Display) -> Self {
        let message = message.to_string();
        let is_empty = message.trim().is_empty();
        let message = if is_empty { "an error without a message".to_owned() } else { message };
        Self { stage, step: None, message }
    }

    /// Adds the step that the case had reached, unless the failure has one.
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

    #[test]
    fn the_message_begins_with_the_stage_or_the_step() {
        let message = |stage, step| Failure::new(stage, "no").at(step).to_string();
        assert_eq!(message(Stage::Launch, Step::CheckedLaunch), "first launch: no");
        assert_eq!(message(Stage::Launch, Step::Samples(2)), "launch (after 2 samples): no");
        assert_eq!(message(Stage::Worker, Step::Setup), "setup: no");
        assert_eq!(message(Stage::Worker, Step::Samples(2)), "after 2 samples or more: no");
    }
}
