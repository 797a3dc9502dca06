//! The result of races: a document of the format `gpubench-tuning/2`, and its text for a terminal.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;
use gpubench_records::{
    Answer, Arg, Cache, Counts, DeviceInfo, Environment, Exit, Failure, Program, ReadError, Sampling,
    files::FileFormat, text::printable,
};
use gpubench_stats::{Nanoseconds, Ratio, format};
use gpubench_table::text::{NOTE, answer_style, heading, styled};
use gpubench_table::{Page, columns, paragraph, wrapped};

/// The format of the results of tuning.
pub const TUNING: FileFormat =
    FileFormat { schema: "gpubench-tuning/2", mismatch_message: "this is no tuning" };
/// The name and version of the format, `gpubench-tuning/2`.
pub const SCHEMA: &str = TUNING.schema;

/// The maximum ratio of a variant's coarse time to the smallest one; slower variants do not race. A single coarse
/// time depends on the addresses of the inputs and on the clocks: on an H200 by 3.3 % at most, for 290 variants
/// of five problems from 3 to 236 µs.
pub(crate) const COARSE_FACTOR: f64 = 1.15;

/// The maximum fraction of all races in which any interval misses the truth: 1 %.
pub(crate) const RACE_ERROR: f64 = 0.01;

gpubench_stats::stored! {
    /// The races of one invocation.
    #[non_exhaustive]
    pub struct Tuning {
        /// [`SCHEMA`].
        pub schema: String,
        /// The program that measured.
        pub program: Program,
        /// The machine and the command.
        pub environment: Environment,
        /// The beginning, in seconds since 1970-01-01 UTC.
        pub started: u64,
        /// The duration.
        pub wall_time: Nanoseconds,
        /// Notes that a reader must see first.
        pub notes: Vec<String>,
        /// The rules of the races.
        pub method: TuningMethod,
        /// The devices, with their drivers and clocks.
        pub devices: Vec<DeviceInfo>,
        /// The benchmarks, each on one device in one state of the cache.
        pub benchmarks: Vec<TunedBenchmark>,
    }

    /// The rules of races.
    #[derive(Copy)]
    pub struct TuningMethod {
        /// The equivalence margin: a difference of two times that does not matter, as a fraction.
        pub equivalence_margin: f64,
        /// The part of all races in which any interval may miss the truth.
        pub error: f64,
        /// The coarse time over the least one up to which a variant races.
        pub coarse_factor: f64,
        /// The time limit for all races together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub budget: Option<Nanoseconds>,
        /// The sampling options of the user.
        pub sampling: Sampling,
    }

    /// The races of a benchmark.
    pub struct TunedBenchmark {
        /// The benchmark's path, crate first.
        pub benchmark: String,
        /// The device, as the command line names it.
        pub device: String,
        /// The device's model.
        pub model: String,
        /// Hot or cold.
        pub cache: Cache,
        /// The axes whose values are variants.
        pub tuned_axes: Vec<String>,
        /// One race for each problem.
        pub problems: Vec<TunedProblem>,
    }

    /// The race of a problem.
    pub struct TunedProblem {
        /// The arguments that are the problem.
        pub args: Vec<Arg>,
        /// The reason that the race ended.
        pub ended: RaceEnd,
        /// The variants, ordered by standing and time.
        pub variants: Vec<TunedVariant>,
        /// The number of variants that the benchmark skips.
        pub skipped: usize,
        /// The duration.
        pub wall_time: Nanoseconds,
    }

    /// The reason that a race ended.
    #[derive(Copy, Eq)]
    pub enum RaceEnd {
        /// Every variant is decided.
        Decided,
        /// The last analysis left some undecided.
        LastAnalysis,
        /// The budget was spent.
        Budget,
        /// The user stopped the race, or nothing more could be measured.
        Stopped,
    }

    /// The standing of a variant, the best first.
    #[derive(Copy, Eq, PartialOrd, Ord)]
    pub enum Standing {
        /// It is the leader.
        Best,
        /// It is within the equivalence margin of the best.
        Tie,
        /// The race did not decide.
        Undecided,
        /// It is slower than the best by more than the equivalence margin.
        Slower,
        /// It did not race, since its coarse time is too far from the least one.
        LeftBehind,
        /// The race ended before it was measured.
        NotMeasured,
        /// It failed.
        Failed,
    }

    /// A variant of a problem.
    pub struct TunedVariant {
        /// The arguments that are the variant.
        pub args: Vec<Arg>,
        /// Its standing.
        pub standing: Standing,
        /// Its time over the best's. All intervals of a race hold together with this confidence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ratio: Option<Ratio>,
        /// The pairs of rounds in which it was compared.
        pub pairs: usize,
        /// The interim analysis, from 1, that decided about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub decided_at: Option<usize>,
        /// Its time when it was measured alone, briefly.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub coarse_time: Option<Nanoseconds>,
        /// The declared work of one launch.
        #[serde(default)]
        pub counts: Counts,
        /// True if its outputs were checked and are right.
        pub checked: bool,
        /// The reason that it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub failure: Option<Failure>,
    }
}

impl TuningMethod {
    /// Returns the rules of races with these sampling options, and with `budget` as the time limit of all
    /// races together.
    pub(crate) fn new(sampling: Sampling, budget: Option<Nanoseconds>) -> Self {
        Self {
            equivalence_margin: sampling.equivalence_margin,
            error: RACE_ERROR,
            coarse_factor: COARSE_FACTOR,
            budget,
            sampling,
        }
    }
}

impl TunedProblem {
    /// Returns a problem with these arguments, without variants. Its race counts as stopped until it ends.
    pub(crate) fn new(args: Vec<Arg>) -> Self {
        Self { args, ended: RaceEnd::Stopped, variants: Vec::new(), skipped: 0, wall_time: Nanoseconds::ZERO }
    }

    /// Returns the winner of the race: its leader at the end. `None` if some variant was not measured, or if
    /// none is left.
    pub fn best(&self) -> Option<&TunedVariant> {
        self.of(Standing::Best).next()
    }

    /// Returns the variants with this standing.
    pub fn of(&self, standing: Standing) -> impl Iterator<Item = &TunedVariant> {
        self.variants.iter().filter(move |variant| variant.standing == standing)
    }
}

impl TunedVariant {
    /// Returns a variant with these arguments: not measured, or failed if there is a `failure`.
    pub(crate) fn new(args: Vec<Arg>, failure: Option<Failure>) -> Self {
        let standing = if failure.is_some() { Standing::Failed } else { Standing::NotMeasured };
        Self {
            args,
            standing,
            ratio: None,
            pairs: 0,
            decided_at: None,
            coarse_time: None,
            counts: Counts::default(),
            checked: false,
            failure,
        }
    }

    /// Marks the variant as failed, with this failure. Discards its ratio and its coarse time, so that it
    /// does not race.
    pub(crate) fn fail(&mut self, failure: Failure) {
        (self.standing, self.failure) = (Standing::Failed, Some(failure));
        (self.ratio, self.decided_at, self.coarse_time) = (None, None, None);
    }

    /// Returns the sort key of the variant: its standing, then its ratio to the best. Without a ratio, that
    /// is its coarse time in nanoseconds, or infinity.
    pub(crate) fn sort_key(&self) -> (Standing, f64) {
        let coarse = self.coarse_time.map_or(f64::INFINITY, Nanoseconds::as_f64);
        (self.standing, self.ratio.map_or(coarse, |ratio| ratio.value))
    }
}

impl Tuning {
    /// Reads a tuning from JSON of the format [`SCHEMA`].
    ///
    /// # Errors
    /// Returns an error if the document has another format or is damaged.
    pub fn parse(json: &[u8]) -> Result<Self, ReadError> {
        TUNING.read(json)
    }

    /// Writes JSON that [`parse`](Self::parse) reads.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// Returns the exit code: [`Exit::Failed`] if a problem has no winner, and else [`Exit::Done`].
    pub fn exit(&self) -> Exit {
        let mut problems = self.benchmarks.iter().flat_map(|benchmark| &benchmark.problems);
        if problems.any(|problem| problem.best().is_none()) { Exit::Failed } else { Exit::Done }
    }
}

/// The maximum number of variants of each standing that the table shows. The file of `--save-tuning` contains
/// all.
const MAX_VARIANTS_PER_STANDING: usize = 8;

/// Returns the text of a tuning: for each problem the best variant, its ties and the others, at most eight of
/// each standing.
pub fn table(tuning: &Tuning, page: Page) -> String {
    let mut parts: Vec<String> = Vec::new();
    for info in &tuning.devices {
        let fake = if info.fake { ", a fake driver for tests: nothing here is a measurement" } else { "" };
        parts.push(paragraph(&format!("{}: {}{fake}", info.device, info.name), page));
    }
    for benchmark in &tuning.benchmarks {
        let TunedBenchmark { benchmark: name, device, cache, tuned_axes, problems, .. } = benchmark;
        let margin = format::plus_minus(tuning.method.equivalence_margin);
        let rest = format!(" on {device}, {cache}: {}; a tie is within {margin}", tuned_axes.join(", "));
        let mut text = heading(&printable(name), &printable(&rest), page);
        text.extend(problems.iter().map(|raced| problem_text(raced, page)));
        parts.push(text);
    }
    parts.push(paragraph(
        &format!(
            "{}: the probability that all intervals contain the true differences",
            format::percent(1.0 - tuning.method.error)
        ),
        page,
    ));
    parts.extend(tuning.notes.iter().map(|note| styled_lines(note, "", NOTE, page)));
    parts.join("\n")
}

/// Returns the text of a problem's race: a line on the race, a line for each variant shown, and remarks on all
/// others.
fn problem_text(problem: &TunedProblem, page: Page) -> String {
    let name = if problem.args.is_empty() {
        String::new()
    } else {
        format!("{}: ", format::joined(&problem.args, ", "))
    };
    let skipped = match problem.skipped {
        0 => String::new(),
        number => format!(" (`skip_if` excluded {number} more)"),
    };
    let end = match problem.ended {
        RaceEnd::Decided => "",
        RaceEnd::LastAnalysis => ", the last analysis leaves some undecided",
        RaceEnd::Budget => ", ended by the budget (raise --budget to decide more)",
        RaceEnd::Stopped => ", stopped",
    };
    let (variants, wall) =
        (format::counted(problem.variants.len(), "variant"), format::time(problem.wall_time));
    let mut text = styled_lines(&format!("{name}{variants}{skipped} in {wall}{end}"), "", Style::new(), page);
    let (mut cells, mut styles, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
    for (standing, word, style) in [
        (Standing::Best, "best", answer_style(Answer::Faster)),
        (Standing::Tie, "tie", Style::new()),
        (Standing::Undecided, "undecided", NOTE),
        (Standing::Slower, "slower", Style::new()),
    ] {
        for variant in problem.of(standing).take(MAX_VARIANTS_PER_STANDING) {
            cells.push(variant_cells(variant, word));
            styles.push(style);
        }
        let more = problem.of(standing).count().saturating_sub(MAX_VARIANTS_PER_STANDING);
        if more > 0 {
            remarks.push(format!("{more} more: {word}"));
        }
    }
    for (row, style) in columns(&cells, 1..4, page).iter().zip(styles) {
        text += &styled(row, style);
    }
    let count = |standing| Some(problem.of(standing).count()).filter(|count| *count > 0);
    if let Some(behind) = count(Standing::LeftBehind) {
        remarks.push(format!("{behind} eliminated: much slower in a first, short measurement"));
    }
    if let Some(missing) = count(Standing::NotMeasured) {
        let end = if problem.ended == RaceEnd::Budget { "the budget ended" } else { "the race was stopped" };
        remarks.push(format!("{missing} not measured: {end} first, so that there is no winner"));
    }
    let mut reasons: BTreeMap<String, Vec<&TunedVariant>> = BTreeMap::new();
    for failed in problem.of(Standing::Failed) {
        let why = failed.failure.as_ref().map(ToString::to_string).unwrap_or_default();
        reasons.entry(why).or_default().push(failed);
    }
    for (why, failed) in reasons {
        let others = if failed.len() > 1 { format!(" and {} more", failed.len() - 1) } else { String::new() };
        remarks.push(format!("{}{others} failed: {why}", format::joined(&failed[0].args, ", ")));
    }
    text + &remarks.iter().map(|remark| styled_lines(remark, "  ", NOTE, page)).collect::<String>()
}

/// Returns the cells of a variant's line: its arguments, its ratio to the best as a change, the interval of
/// the ratio, and `word`, the standing. The best and a variant without a ratio have their coarse time.
fn variant_cells(variant: &TunedVariant, word: &str) -> Vec<String> {
    let [ratio, interval] = match variant.ratio.filter(|_| variant.standing != Standing::Best) {
        Some(ratio) => [format::change(ratio.value), format::changes(ratio.low, ratio.high)],
        None => [variant.coarse_time.map(format::time).unwrap_or_default(), String::new()],
    };
    vec![printable(&format::joined(&variant.args, ", ")), ratio, interval, word.to_owned()]
}

/// Returns `text` in printable characters, wrapped to the page with this indent and style.
fn styled_lines(text: &str, indent: &str, style: Style, page: Page) -> String {
    styled(&wrapped(&printable(text), indent, page), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg(name: &str, value: &str) -> Arg {
        Arg { name: name.to_owned(), value: value.to_owned() }
    }

    fn tuning() -> Tuning {
        let variant = |value: &str, standing| TunedVariant {
            standing,
            ..TunedVariant::new(vec![arg("BLOCK", value)], None)
        };
        let problem = TunedProblem {
            variants: vec![variant("128", Standing::Best), variant("256", Standing::Tie)],
            ..TunedProblem::new(vec![arg("n", "1024")])
        };
        Tuning {
            schema: SCHEMA.to_owned(),
            program: Program::default(),
            environment: Environment::default(),
            started: 1,
            wall_time: Nanoseconds(2e6),
            notes: Vec::new(),
            method: TuningMethod::new(Sampling::USUAL, None),
            devices: vec![DeviceInfo::new("cuda:0", "NVIDIA H200")],
            benchmarks: vec![TunedBenchmark {
                benchmark: "kernels::matmul".to_owned(),
                device: "cuda:0".to_owned(),
                model: "NVIDIA H200".to_owned(),
                cache: Cache::Hot,
                tuned_axes: vec!["BLOCK".to_owned()],
                problems: vec![problem],
            }],
        }
    }

    #[test]
    fn a_tuning_is_read_as_it_was_written() {
        let mut json = Vec::new();
        tuning().write(&mut json).expect("a vector takes everything");
        assert_eq!(Tuning::parse(&json).expect("a tuning"), tuning());
        let newer = String::from_utf8(json).expect("UTF-8").replace("gpubench-tuning/2", "gpubench-tuning/9");
        assert!(matches!(Tuning::parse(newer.as_bytes()), Err(ReadError::OtherSchema { .. })));
    }
}
