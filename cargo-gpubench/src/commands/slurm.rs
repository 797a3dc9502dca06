//! `slurm`: a batch script that measures a suite on the GPUs of a cluster. In: the suite's command, and an array or a number of nodes;
//! out: the script, on standard output. Nothing is submitted.

use std::fmt::Write;

use gpubench_records::exit::Exit;

use crate::args::{ShareArg, SlurmArgs};
use crate::error::CommandError;
use crate::output::{self, PrintOptions};

pub(super) fn slurm(args: &SlurmArgs, print_options: PrintOptions) -> Result<Exit, CommandError> {
    output::print(&script(args), print_options)?;
    Ok(Exit::Done)
}

/// The text of the script.
fn script(args: &SlurmArgs) -> String {
    let SlurmArgs { array, nodes, gpus_per_node, share, runs_dir, sbatch, suite } = args;
    let mut text = "#!/bin/bash\n".to_owned();
    let mut set = |option: &str| {
        // Writing to a string cannot fail.
        _ = writeln!(text, "#SBATCH --{option}");
    };
    set("job-name=gpubench");
    match array {
        Some(array) => {
            set(&format!("array=1-{array}"));
            set("ntasks=1");
        }
        None => {
            set(&format!("nodes={nodes}"));
            set(&format!("ntasks-per-node={gpus_per_node}"));
        }
    }
    set("gpus-per-task=1");
    // A job that was preempted or lost a node is started again, and goes on in the same log.
    set("requeue");
    set("open-mode=append");
    set(if array.is_some() { "output=gpubench-%A_%a.log" } else { "output=gpubench-%j.log" });
    sbatch.iter().for_each(|option| set(option.trim_start_matches("--")));
    let runs = quoted(runs_dir);
    let words: Vec<String> = suite.iter().map(|word| quoted(word)).collect();
    let share = match share {
        ShareArg::Replicate => "replicate".to_owned(),
        // With its number, a task that failed may be submitted again by itself: `sbatch --array=3`.
        ShareArg::Split => {
            array.map_or("split".to_owned(), |of| format!("\"split:$SLURM_ARRAY_TASK_ID/{of}\""))
        }
    };
    // Of a step, one task that fails must not end the others.
    let srun = if array.is_some() { "srun" } else { "srun --kill-on-bad-exit=0" };
    _ = write!(
        text,
        "\nset -euo pipefail\n\
         # All nodes see this folder. `cargo gpubench` reads the runs in it.\n\
         runs={runs}\n\
         mkdir -p \"$runs\"\n\
         # A task that is started again goes on from its own run.\n\
         exec {srun} {} --share {share} --runs-dir \"$runs\" --resume\n",
        words.join(" ")
    );
    text
}

/// The word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
