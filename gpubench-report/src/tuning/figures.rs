//! The drawings of a race. In: a problem; out: SVG elements: what was left over its steps, its last intervals, and energy over time.

use gpubench_records::tuning::{TunedLook, TunedProblem, TunedVariant};
use gpubench_stats::format::{self, counted};
use gpubench_stats::race::{FrontStanding, Standing};

use super::energy::EnergyRow;
use super::words;
use crate::drawing::{Axis, Change, Curves, Forest, Point, Series, Style, Unit};
use crate::text::plain;

/// The most intervals of a problem that are drawn, and the most of those that are slower.
const DRAWN: usize = 30;
const SLOWER: usize = 10;
/// True if enough variants raced for a line over time.
pub(super) fn is_worth_drawing(looks: &[TunedLook]) -> bool {
    looks.len() > 1 && looks.iter().any(|look| look.left > 3)
}

/// What each look left, over steps.
pub(super) fn survivors(problem: &TunedProblem) -> String {
    let line = |name: &str, of: fn(&TunedLook) -> usize| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for look in &problem.looks {
            let (x, y) = (look.steps as f64, of(look) as f64);
            points.extend(points.last().map(|before| (x, before.1)));
            points.push((x, y));
        }
        Series::new(name, points).styled(Style::Bare)
    };
    let [first, last] =
        [problem.looks.first(), problem.looks.last()].map(|look| look.map_or(0, |look| look.left));
    let alone = problem.variants.iter().filter(|variant| variant.coarse.is_some()).count();
    Curves {
        title: format!("{last} of {first} that raced are left"),
        subtitle: format!("{} measured alone first", counted(alone, "variant")),
        x: Axis::linear("steps of the race", Unit::NUMBER),
        y: Axis::linear("variants", Unit::NUMBER),
        series: vec![
            line("best, ties and undecided", |look| look.left),
            line("undecided", |look| look.undecided),
        ],
        marks: Vec::new(),
    }
    .drawing()
    .element()
}

/// The last intervals of those that raced.
pub(super) fn forest(problem: &TunedProblem, band: f64) -> String {
    let of = |standing, most| problem.of(standing).filter(|variant| variant.ratio.is_some()).take(most);
    let drawn: Vec<&TunedVariant> = [Standing::Best, Standing::Tie, Standing::Undecided]
        .into_iter()
        .flat_map(|standing| of(standing, DRAWN))
        .take(DRAWN)
        .chain(of(Standing::Slower, SLOWER))
        .collect();
    let short = words::short_names(drawn.iter().map(|variant| &*variant.args));
    let row = |(variant, name): (&&TunedVariant, &String)| {
        let ratio = variant.ratio?;
        let index = match variant.standing {
            Standing::Best => 0,
            Standing::Tie => 2,
            Standing::Slower => 1,
            _ => 4,
        };
        let word = words::word(variant.standing);
        let note = match variant.standing {
            Standing::Best => word.to_owned(),
            _ => format!("{} {word}", format::change(ratio.value)),
        };
        let interval = [ratio.low - 1.0, ratio.high - 1.0];
        Some(Change { name: plain(name), value: ratio.value - 1.0, interval, note, index })
    };
    let rows: Vec<Change> = drawn.iter().zip(&short.names).filter_map(row).collect();
    let raced = problem.variants.iter().filter(|variant| variant.ratio.is_some()).count();
    let most =
        if rows.len() < raced { format!("{} of {raced} that raced; ", rows.len()) } else { String::new() };
    let explained =
        if short.explained.is_empty() { String::new() } else { format!("; {}", plain(&short.explained)) };
    Forest {
        title: "Times over the best's".to_owned(),
        subtitle: format!("{most}grey: differences that do not matter{explained}"),
        label: "more time than the best".to_owned(),
        band,
        rows,
    }
    .drawing()
    .element()
}

/// Energy over time, each as more than the fastest one's.
pub(super) fn trade_off(rows: &[EnergyRow<'_>]) -> String {
    let more = |row: &EnergyRow<'_>| Some((row.variant.ratio?, row.ratio?));
    let point = |row: &EnergyRow<'_>| {
        let (time, energy) = more(row)?;
        let (name, power) = (words::names(&row.variant.args), format::power(row.power));
        let (per_launch, change) = (format::energy(row.per_launch), format::change(time.value));
        let name = format!("{name}: {per_launch} at {power}, {change} time");
        let interval = [energy.low - 1.0, energy.high - 1.0];
        let place = Point::from((time.value - 1.0, energy.value - 1.0));
        Some(Point { interval: Some(interval), name: Some(plain(&name)), ..place })
    };
    let series = [
        (FrontStanding::Front, "on the front"),
        (FrontStanding::Undecided, "undecided"),
        (FrontStanding::Dominated, "dominated"),
    ]
    .into_iter()
    .map(|(standing, name)| {
        let mut points: Vec<Point> =
            rows.iter().filter(|row| row.standing == standing).filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(name, points).styled(Style::Points)
    })
    .filter(|series| !series.points.is_empty())
    .collect();
    Curves {
        title: "Energy against time".to_owned(),
        subtitle: "each over the fastest one's; intervals of energy hold together".to_owned(),
        x: Axis::near("more time", Unit::CHANGE),
        y: Axis::near("more energy", Unit::CHANGE),
        series,
        marks: Vec::new(),
    }
    .drawing()
    .element()
}
