//! The page of a tuning: one file that a browser shows without a network and without a script. In: a [`Tuning`]; out: HTML: for each
//! benchmark what to ship, and for each problem its answer, what was left over time, the last intervals, a map of the space, and all
//! variants.

use gpubench_records::facts::Facts;
use gpubench_records::tuning::{TunedBenchmark, TunedLook, TunedProblem, TunedVariant, Tuning};
use gpubench_stats::format::{self, counted};
use gpubench_stats::race::Standing;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::energy::{self, EnergyRow};
use super::space::{Cell, Space, space};
use super::{figures, words};
use crate::html::style;
use crate::text::plain;

/// The browser fetches and runs nothing, whatever a name contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The most variants that the table of a problem lists.
const LISTED: usize = 500;
/// The times over the best's at which a cell of the map has no colour left.
const PALE: f64 = 1.5;

/// The page.
pub(super) fn page(tuning: &Tuning) -> String {
    let title = title(tuning);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(style())) (PreEscaped(include_str!("tuning.css"))) }
            }
            body {
                header { h1 { (title) } }
                main {
                    @for facts in &tuning.devices { (device(facts)) }
                    @for note in &tuning.notes { p.note { (plain(note)) } }
                    @for (number, it) in tuning.benchmarks.iter().enumerate() { (benchmark(it, number, tuning.method.band)) }
                    (method(tuning))
                }
                footer { p.soft { "gpubench " (plain(&tuning.program.version)) } }
            }
        }
    }
    .into_string()
}

fn title(tuning: &Tuning) -> String {
    let mut models: Vec<String> = tuning.devices.iter().map(|facts| plain(&facts.name)).collect();
    models.dedup();
    let on = if models.is_empty() { String::new() } else { format!(" on {}", models.join(", ")) };
    match &tuning.benchmarks[..] {
        [one] => format!("Tuning of {}{on}", plain(&one.benchmark)),
        several => format!("Tuning of {}{on}", counted(several.len(), "benchmark")),
    }
}

fn device(facts: &Facts) -> Markup {
    html! {
        p.device.soft { (plain(&facts.device)) ": " (plain(&facts.name)) }
        @if facts.fake { p { strong.bad { "FAKE: a stand-in for tests. Its times are made up" } } }
    }
}

fn benchmark(benchmark: &TunedBenchmark, number: usize, band: f64) -> Markup {
    let TunedBenchmark { benchmark: name, device, cache, tune, problems, .. } = benchmark;
    html! {
        section aria-labelledby={ "b" (number) } {
            h2 id={ "b" (number) } { (plain(name)) " on " (plain(device)) ", " (cache) }
            p { "Variants: " (plain(&tune.join(", "))) ". Differences within " (format::plus_minus(band)) " do not matter." }
            @if let Some(words) = words::to_ship(benchmark) { p { b { "To ship: " } (plain(&words)) "." } }
            @for (place, it) in problems.iter().enumerate() { (problem(it, band, number, place)) }
        }
    }
}

fn problem(problem: &TunedProblem, band: f64, number: usize, place: usize) -> Markup {
    let id = format!("b{number}p{place}");
    let energies = energy::rows(problem);
    let raced =
        problem.variants.iter().any(|variant| variant.standing != Standing::Best && variant.ratio.is_some());
    html! {
        article.problem aria-labelledby=(id) {
            h3 id=(id) {
                @if problem.args.is_empty() { "The race" } @else { (plain(&words::names(&problem.args))) }
            }
            p { strong { (answer(problem)) } }
            p.soft { (words::size(problem)) "." }
            @if let Some(missing) = words::missing(problem) { p.note { (missing) "." } }
            div.figures {
                @if figures::is_worth_drawing(&problem.looks) { figure tabindex="0" { (PreEscaped(figures::survivors(problem))) } }
                @if raced { figure tabindex="0" { (PreEscaped(figures::forest(problem, band))) } }
                @if energies.len() > 1 { figure tabindex="0" { (PreEscaped(figures::trade_off(&energies))) } }
            }
            @if !energies.is_empty() { (energy_table(&energies)) }
            @for refusal in energy::refusals(problem) { p.note { (plain(&refusal)) "." } }
            @if let Some(space) = space(problem) { (heat(&space, &id)) }
            (looks(&problem.looks))
            (variants(problem))
        }
    }
}

/// The answer as a sentence.
fn answer(problem: &TunedProblem) -> String {
    let Some(best) = problem.best() else { return "There is no winner.".to_owned() };
    let time = best.coarse.map(|time| format!(", {}", format::time(time))).unwrap_or_default();
    let [ties, undecided] = [Standing::Tie, Standing::Undecided].map(|standing| problem.of(standing).count());
    let ties = match ties {
        0 => String::new(),
        1 => ", and a tie".to_owned(),
        many => format!(", and {many} ties"),
    };
    let undecided = match undecided {
        0 => String::new(),
        many => format!("; {many} undecided"),
    };
    plain(&format!("Best: {}{time}{ties}{undecided}.", words::names(&best.args)))
}

/// The front of time and energy, as a table.
fn energy_table(rows: &[EnergyRow<'_>]) -> Markup {
    html! {
        p { b { (sentence(&energy::summary(rows))) "." } }
        div.wide tabindex="0" {
            table.plain-table {
                thead { tr {
                    th scope="col" { "variant" } th scope="col" { "place" } th.number scope="col" { "more time" }
                    th.number scope="col" { "energy" } th.number scope="col" { "more energy" } th.number scope="col" { "interval" }
                    th.number scope="col" { "power" }
                } }
                tbody {
                    @for row in rows.iter().take(LISTED) {
                        tr {
                            th scope="row" { (plain(&words::names(&row.variant.args))) }
                            td { (row.word()) }
                            td.number { (energy::time(row)) }
                            td.number { (format::energy(row.per_launch)) }
                            td.number { (energy::change(row.ratio)) }
                            td.number { (energy::interval(row.ratio)) }
                            td.number { (format::power(row.power)) }
                        }
                    }
                }
            }
        }
    }
}

/// The text with a capital letter.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// The map of the space.
fn heat(space: &Space<'_>, id: &str) -> Markup {
    let over = match &space.others[..] {
        [] => String::new(),
        others => format!(", each at its best over {}", others.join(", ")),
    };
    let axes = space.down.map_or(String::new(), |down| format!("{down} down, "));
    let caption = plain(&format!("More time than the best: {axes}{} across{over}", space.across));
    let id = format!("{id}map");
    let is_alone = |cell: &Cell<'_>| matches!(cell, Cell::Timed(variant, _) if variant.ratio.is_none() && variant.standing != Standing::Best);
    let some_alone = space.rows.iter().flat_map(|(_, cells)| cells).any(is_alone);
    html! {
        p id=(id) { b { (caption) } }
        div.scroll tabindex="0" {
            table.heat.space aria-labelledby=(id) {
                thead { tr {
                    @if let Some(down) = space.down { th scope="col" { (plain(down)) } }
                    @for column in &space.columns { th scope="col" { (plain(space.across)) "=" (plain(column)) } }
                } }
                tbody {
                    @for (value, cells) in &space.rows {
                        tr {
                            @if space.down.is_some() { th scope="row" { (plain(value)) } }
                            @for it in cells { (cell(it)) }
                        }
                    }
                }
            }
        }
        @if some_alone { p.soft { "≈: measured alone, did not race." } }
    }
}

fn cell(cell: &Cell<'_>) -> Markup {
    let (variant, ratio) = match cell {
        Cell::Timed(variant, ratio) => (variant, *ratio),
        Cell::Failed => return html! { td.bad { "failed" } },
        Cell::NotMeasured => return html! { td.soft { "not measured" } },
        Cell::Missing => return html! { td.soft { "–" } },
    };
    // Steep near the best, where differences matter.
    let share = 1.0 - ((ratio - 1.0) / (PALE - 1.0)).clamp(0.0, 1.0).sqrt();
    let shown = match variant.standing {
        Standing::Best => "best".to_owned(),
        Standing::Tie => format!("{} tie", format::change(ratio)),
        _ if variant.ratio.is_some() => format::change(ratio),
        _ => format!("≈ {:+.0} %", 100.0 * (ratio - 1.0)),
    };
    let is_good = matches!(variant.standing, Standing::Best | Standing::Tie);
    html! {
        td.good[is_good] style={ "--share:" (format!("{:.0}%", 45.0 * share)) } title=(plain(&words::names(&variant.args))) {
            (shown)
        }
    }
}

/// What each look left, as a table.
fn looks(looks: &[TunedLook]) -> Markup {
    html! {
        @if looks.len() > 1 {
            details {
                summary { (counted(looks.len() - 1, "look")) }
                div.wide tabindex="0" {
                    table.plain-table {
                        thead { tr {
                            th.number scope="col" { "steps" } th.number scope="col" { "time" } th.number scope="col" { "left" }
                            th.number scope="col" { "undecided" } th scope="col" { "leader from then on" }
                        } }
                        tbody {
                            @for look in looks {
                                tr {
                                    td.number { (look.steps) } td.number { (format::time(look.at)) } td.number { (look.left) }
                                    td.number { (look.undecided) } td { (plain(&words::names(&look.leader))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// All variants, as a table.
fn variants(problem: &TunedProblem) -> Markup {
    let count = problem.variants.len();
    html! {
        details {
            summary { (counted(count, "variant")) }
            div.wide tabindex="0" {
                table.plain-table {
                    thead { tr {
                        th scope="col" { "variant" } th scope="col" { "standing" } th.number scope="col" { "more time" }
                        th.number scope="col" { "interval" } th.number scope="col" { "alone" } th.number scope="col" { "pairs" }
                        th.number scope="col" { "look" } th scope="col" { "outputs" }
                    } }
                    tbody { @for variant in problem.variants.iter().take(LISTED) { (row(variant)) } }
                }
            }
            @if count > LISTED { p.soft { (count - LISTED) " more are in the file." } }
        }
    }
}

fn row(variant: &TunedVariant) -> Markup {
    let ratio = variant.ratio.filter(|_| variant.standing != Standing::Best);
    let outputs = match (&variant.failure, variant.checked) {
        (Some(failure), _) => plain(&failure.to_string()),
        (None, true) => "right".to_owned(),
        (None, false) => "not checked".to_owned(),
    };
    html! {
        tr {
            th scope="row" { (plain(&words::names(&variant.args))) }
            td.bad[variant.standing == Standing::Failed] { (words::word(variant.standing)) }
            td.number { @if let Some(ratio) = ratio { (format::change(ratio.value)) } }
            td.number { @if let Some(ratio) = ratio { (format::changes(ratio.low, ratio.high)) } }
            td.number { @if let Some(time) = variant.coarse { (format::time(time)) } }
            td.number { @if variant.pairs > 0 { (variant.pairs) } }
            td.number { @if let Some(look) = variant.decided_at { (look) } }
            td { (outputs) }
        }
    }
}

fn method(tuning: &Tuning) -> Markup {
    let method = &tuning.method;
    let factor = format::number(method.coarse_factor);
    html! {
        section aria-labelledby="method" {
            h2 #method { "Method" }
            p {
                "Each variant was measured alone, briefly. Those within " (factor) " times the fastest took turns with the leader in the "
                "same graphs, and left at a look when they were certainly slower by more than the band, or certainly within it. "
                (words::certainty(tuning))
            }
            p.soft {
                "Took " (format::time(tuning.wall)) @if let Some(budget) = method.budget { " of a budget of " (format::time(budget)) } ". " code { (plain(&tuning.environment.command.join(" "))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn recorded() -> Tuning {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpubench-records/tests/tuning.json");
        Tuning::parse(&fs::read(file).expect("it is there")).expect("a tuning")
    }

    #[test]
    fn each_problem_has_its_answer_its_intervals_and_its_map() {
        let page = page(&recorded());
        for words in [
            "Tuning of 2 benchmarks on a clock with known hands",
            "<b>To ship: </b>within the band of every problem's best, the smallest set: [BLOCK=128, unroll=2]",
            "Best: BLOCK=128, unroll=1",
            "<th scope=\"col\">BLOCK=128</th><th scope=\"col\">BLOCK=256</th>",
            "More time than the best: unroll down, BLOCK across",
            "<td class=\"bad\">failed</td>",
            "too many resources requested for launch",
            "In 99.0 % of races all intervals hold the truth together.",
        ] {
            assert!(page.contains(words), "{words}");
        }
        assert_eq!(page.matches("<article class=\"problem\"").count(), 3);
        // The one that is skipped has an empty place on the map of both problems.
        assert_eq!(page.matches("<td class=\"soft\">–</td>").count(), 2);
        assert!(!page.contains("<script"));
    }

    #[test]
    fn a_name_is_no_markup_and_what_was_not_measured_is_told() {
        let mut tuning = recorded();
        let benchmark = &mut tuning.benchmarks[0];
        "<script>x</script>".clone_into(&mut benchmark.benchmark);
        let problem = &mut benchmark.problems[0];
        for variant in &mut problem.variants {
            (variant.standing, variant.ratio, variant.coarse) = (Standing::NotMeasured, None, None);
            "<i>".clone_into(&mut variant.args[0].value);
        }
        problem.ended = gpubench_records::tuning::RaceEnd::Budget;
        let page = page(&tuning);
        assert!(!page.contains("<script") && !page.contains("<i>"));
        assert!(page.contains("There is no winner."));
        assert!(page.contains("5 not measured: the budget ended first, so that there is no winner."));
    }

    #[test]
    fn lines_over_time_begin_with_all_that_race() {
        let mut tuning = recorded();
        let problem = &mut tuning.benchmarks[0].problems[0];
        let mut look = problem.looks[0].clone();
        (look.steps, look.left, look.undecided) = (0, 9, 8);
        let after = TunedLook { steps: 12, left: 3, undecided: 0, ..look.clone() };
        problem.looks = vec![look, after];
        let drawn = page(&tuning);
        assert!(drawn.contains("3 of 9 that raced are left") && drawn.contains("best, ties and undecided"));
    }
}
