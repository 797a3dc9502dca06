//! The table of launch functions, each with its verdict and the expected verdict.

use std::env;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use gpubench::record::{Record, Run, State};
use gpubench::units::Nanoseconds;
use gpubench::{RunEvent, RunEvents, format};

use super::{Group, Line, Needs};

/// The columns of the text.
const WIDTH: usize = 80;
/// What a case may take beyond its budget: to open the device again where the case before it lost it, to load, to check.
const BEYOND: Duration = Duration::from_secs(1);

/// The wall time of each record: since its job began, or since the record before it.
#[derive(Debug)]
pub(crate) struct Watch {
    since: Instant,
    walls: Vec<Duration>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { since: Instant::now(), walls: Vec::new() }
    }
}

impl RunEvents for Watch {
    fn event(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::JobStarted(_) => self.since = Instant::now(),
            RunEvent::RecordFinished(_) => {
                self.walls.push(self.since.elapsed());
                self.since = Instant::now();
            }
            _ => {}
        }
    }
}

/// What came of a launch.
#[derive(Debug)]
struct Came {
    state: State,
    time: Option<Nanoseconds>,
    reasons: Vec<String>,
    /// Why it was timed on the stream, if it was.
    on_the_stream: Option<String>,
    wall: Duration,
}

impl Came {
    fn of(record: &Record, wall: Duration) -> Self {
        let reasons = record.verdict.reasons.iter().map(ToString::to_string).collect();
        let time = record.usable_measurement().map(gpubench::record::Measurement::median);
        let method = record.measurement.as_ref().map(|measured| &measured.samples.method);
        let on_the_stream = method.and_then(|method| method.path_reason.clone());
        Self { state: record.verdict.state, time, reasons, on_the_stream, wall }
    }

    /// What is not as `line` has it.
    fn differs(&self, line: &Line, budget: Option<Nanoseconds>) -> Option<String> {
        if let Some(difference) = line.expected.difference(self.state, &self.reasons) {
            return Some(difference);
        }
        let said = |words: &&str| self.reasons.iter().any(|reason| reason.contains(*words));
        if !line.says.is_empty() && !line.says.iter().any(said) {
            return Some(format!("does not say `{}`", line.says.join("` or `").replace(": ", ":")));
        }
        if !self.reasons.iter().any(|reason| reason.contains(line.names)) && !line.names.is_empty() {
            return Some(format!("does not name `{}`", line.names));
        }
        let late = budget.filter(|budget| Nanoseconds::from(self.wall) > *budget);
        late.map(|budget| format!("took longer than {:.1} s", budget.as_seconds()))
    }
}

/// A line and what came of it.
#[derive(Debug)]
struct Row {
    line: &'static Line,
    came: Option<Came>,
    /// Why this device does not show it.
    hidden: Option<&'static str>,
    differs: Option<String>,
}

/// All lines that were wanted.
#[derive(Debug)]
pub(crate) struct Found {
    device: String,
    rows: Vec<Row>,
    wall: Nanoseconds,
}

impl Found {
    pub(crate) fn new(run: &Run, lines: &[&'static Line], watch: &Watch) -> Self {
        let gpu = run.devices.iter().find(|info| info.device.starts_with("cuda"));
        let fake = gpu.is_some_and(|info| info.fake);
        let device = gpu.or_else(|| run.devices.first());
        let device = device.map_or("no device".to_owned(), |info| info.name.clone());
        let device = if fake { format!("{device}, a fake driver") } else { device };
        // The fake driver's clock is not the host's, and other programs share the host's processor.
        let budget = (gpu.is_some() && !fake).then(|| run.sampling.max_time + Nanoseconds::from(BEYOND));
        let rows = lines.iter().map(|line| {
            let is_its = |record: &Record| {
                record.case.benchmark.rsplit("::").next() == Some(line.name)
                    && record.case.cache == line.cache
            };
            let place = run.records.iter().position(is_its);
            let wall = |place: usize| watch.walls.get(place).copied().unwrap_or_default();
            let came = place.map(|place| Came::of(&run.records[place], wall(place)));
            let hidden = hidden(line.needs, fake);
            let differs = match &came {
                None => Some("was not measured".to_owned()),
                // Its set-up alone takes seconds.
                Some(came) => came.differs(line, budget.filter(|_| line.needs != Needs::Sensors)),
            };
            Row { line, came, hidden, differs: differs.filter(|_| hidden.is_none()) }
        });
        Self { device, rows: rows.collect(), wall: run.wall_time }
    }

    /// The number of launches of which something else was said than should be.
    pub(crate) fn differing(&self) -> usize {
        self.rows.iter().filter(|row| row.differs.is_some()).count()
    }

    fn of(&self, lines: &'static [Line]) -> Vec<&Row> {
        self.rows.iter().filter(|row| lines.iter().any(|line| std::ptr::eq(line, row.line))).collect()
    }
}

/// Why a device does not show what needs something.
fn hidden(needs: Needs, fake: bool) -> Option<&'static str> {
    let sensors = || env::var_os("GPUBENCH_FAKE_SLOWED").is_some();
    match needs {
        Needs::HostTime if fake => Some("the fake driver's clock stands still while the host works"),
        Needs::Sensors if fake && !sensors() => {
            Some("the fake driver has sensors only where they are asked for")
        }
        _ => None,
    }
}

/// All of it, for people.
pub(crate) fn text(found: &Found, groups: &'static [Group]) -> String {
    let mut text = format!("{}\n", found.device);
    for group in groups {
        let rows = found.of(group.lines);
        if rows.is_empty() {
            continue;
        }
        _ = writeln!(
            text,
            "\n{:<33}  cache  {:<11}  {:<8} {:>9} {:>6}",
            group.title, "expected", "came out", "time", "wall"
        );
        rows.into_iter().for_each(|row| text += &row.text());
    }
    let (all, differing) = (found.rows.len(), found.differing());
    let hidden = found.rows.iter().filter(|row| row.hidden.is_some()).count();
    let not_shown = if hidden == 0 { String::new() } else { format!(", {hidden} not shown by this device") };
    let as_expected = all - hidden - differing;
    let wall = found.wall.as_seconds();
    _ = writeln!(
        text,
        "\n{all} launches: {as_expected} as expected, {differing} not{not_shown}; {wall:.1} s"
    );
    text
}

impl Row {
    fn text(&self) -> String {
        let Line { name, cache, does, expected, .. } = self.line;
        let mark = if self.differs.is_some() { '!' } else { ' ' };
        let mut text = format!("{mark} {name:<31}  {:<5}  {:<11}", cache.to_string(), expected.to_string());
        if let Some(came) = &self.came {
            let time = came.time.map_or_else(|| "–".to_owned(), format::time);
            let time = time.split_whitespace().collect::<Vec<_>>().join(" ");
            let wall = format!("{:.1} s", came.wall.as_secs_f64());
            _ = write!(text, "  {:<8} {time:>9} {wall:>6}", came.state.to_string());
        }
        text.push('\n');
        let mut add = |begin: &str, words: &str| {
            let options = textwrap::Options::new(WIDTH).initial_indent(begin).subsequent_indent("      ");
            textwrap::wrap(words, options).iter().for_each(|line| {
                text += line;
                text.push('\n');
            });
        };
        add("    ", does);
        if let Some(came) = &self.came {
            came.reasons.iter().for_each(|reason| add("    · ", reason));
            came.on_the_stream.iter().for_each(|why| add("    timed on the stream: ", why));
        }
        self.hidden.iter().for_each(|why| add("    not shown here: ", why));
        self.differs.iter().for_each(|why| add("    NOT AS EXPECTED: ", why));
        text
    }

    /// The reasons, as far as they are the same whenever they are said: less figures of one run.
    fn because(&self) -> String {
        let Some(came) = &self.came else { return String::new() };
        let reasons = came.reasons.iter().map(|reason| {
            // The stage at which a failure was noticed stands before it.
            let reason = match reason.split_once("): ") {
                Some((stage, rest)) if stage.starts_with("launch (") || stage.starts_with("sampling (") => {
                    rest
                }
                _ => reason.strip_prefix("first ").unwrap_or(reason).trim_start_matches("launch: "),
            };
            let ends = [": ", ", ", " ("].iter().filter_map(|end| reason.find(end)).min();
            reason[..ends.unwrap_or(reason.len())].to_owned()
        });
        reasons.collect::<Vec<_>>().join("; ")
    }
}

/// The rows of a page.
pub(crate) fn markdown(found: &Found, groups: &'static [Group]) -> String {
    let mut text = String::new();
    for group in groups {
        let rows = found.of(group.lines);
        if rows.is_empty() {
            continue;
        }
        _ = write!(
            text,
            "### {}\n\n| launch | what it does | verdict | because |\n|---|---|---|---|\n",
            title(group.title)
        );
        for row in rows {
            let Line { name, cache, does, expected, .. } = row.line;
            let because = match (&row.differs, row.hidden) {
                (Some(differs), _) => format!("**not yet**: it {differs}"),
                (None, Some(why)) => format!("*{why}*"),
                (None, None) => row.because(),
            };
            let verdict = row.came.as_ref().filter(|_| row.differs.is_none() && row.hidden.is_none());
            let verdict = verdict.map_or_else(|| expected.to_string(), |came| came.state.to_string());
            _ = writeln!(text, "| `{name}` {cache} | {does} | {verdict} | {because} |");
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

/// A title with a capital letter.
fn title(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_uppercase() + rest
}
