//! The answer about a fleet on a terminal: first the answer, then the slow GPUs with their intervals and reasons, every GPU if there
//! are few, and last what is missing.

use std::collections::BTreeMap;

use gpubench_stats::format::{change, changes, counted, percent, signed_percent};
use gpubench_table::Page;
use gpubench_table::aligned::columns;
use gpubench_table::style::heading;
use gpubench_table::text::{paragraph, plain};

use super::{FleetGpu, FleetGroup, FleetReport, Verdict};

/// The number of slow GPUs and of missing parts that a terminal shows.
const MOST: usize = 20;
/// The largest number of GPUs of which each has a line.
const SHOWN: usize = 16;

/// Returns the answer as lines of `page`.
#[must_use]
pub fn render(report: &FleetReport, page: Page) -> String {
    let read = format!("{} in {}", counted(report.runs, "run"), counted(report.files, "file"));
    let mut text: String = report.groups.iter().map(|group| answer(group, page)).collect();
    if report.groups.is_empty() {
        text += &heading("no GPU can be judged", &format!(": {read}"), page);
    }
    for group in &report.groups {
        let several = format!(": {} ({})", plain(&group.model), plain(&group.build));
        let name = if report.groups.len() > 1 { &*several } else { "" };
        let few = group.gpus.len() <= SHOWN;
        let sections = [
            ("slow GPUs", listed(group.slow().map(slow), page)),
            ("each GPU", if few { each(group, page) } else { String::new() }),
            ("not enough data", listed(lacks(group).into_iter(), page)),
        ];
        for (title, body) in sections.into_iter().filter(|(_, body)| !body.is_empty()) {
            text += &format!("\n{}{body}", heading(title, name, page));
        }
    }
    let missing = listed(report.missing.iter().map(|sentence| format!("  {sentence}\n")), page);
    if !missing.is_empty() {
        text += &format!("\n{}{missing}", heading("missing", "", page));
    }
    let rules = format!(
        "\n{read}. Slow: by at least {}, and unlike the other GPUs; on average {} of those called slow may be wrong",
        percent(report.least),
        percent(report.false_discoveries)
    );
    text + &paragraph(&rules, page)
}

/// Returns the answer about a group, such as "1 of 4 NVIDIA H200 is slow".
fn answer(group: &FleetGroup, page: Page) -> String {
    let (all, model) = (group.gpus.len(), plain(&group.model));
    let is_judged = group.gpus.iter().any(|gpu| gpu.verdict != Verdict::NotEnoughData);
    let answer = match group.slow().count() {
        0 if !is_judged => format!("not enough data about {all} {model}"),
        0 => format!("none of {all} {model} is slow"),
        1 => format!("1 of {all} {model} is slow"),
        slow => format!("{slow} of {all} {model} are slow"),
    };
    let fake = if group.fake { " (FAKE: stand-ins for tests, whose times are made up)" } else { "" };
    let cases = group.roofs.iter().map(|of| of.cases.len()).sum();
    let (hosts, cases) = (counted(group.hosts.len(), "host"), counted(cases, "case"));
    let size = format!(" ({hosts}, {cases}, {})", plain(&group.build));
    heading(&(answer + fake), &size, page)
}

/// Returns a slow GPU with its roofs and its differences from what is usual.
fn slow(gpu: &FleetGpu) -> String {
    let mut text = format!("  {}\n", gpu.name());
    for on in gpu.findings() {
        let (it, [low, high]) = (&on.standing, on.standing.interval.map(|end| 1.0 + end));
        let spread = format!(" that differ by {}", percent(it.between_processes));
        let spread = if it.processes > 1 { &*spread } else { "" };
        text += &format!(
            "    {}: {} {}, {}, {}{spread}\n",
            on.roof,
            change(1.0 + it.effect),
            changes(low, high),
            counted(it.cases, "case"),
            counted(it.processes, "process"),
        );
    }
    let usual = || "its sensors and properties show nothing unusual".to_owned();
    let reasons = if gpu.reasons.is_empty() { usual() } else { gpu.reasons.join("; ") };
    text + &format!("    {reasons}\n")
}

/// Returns the effect of each GPU on each roof.
fn each(group: &FleetGroup, page: Page) -> String {
    let heads = group.roofs.iter().map(|of| of.roof.to_string().replace("memory ", ""));
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("GPU".to_owned()).chain(heads).collect()];
    let mut gpus: Vec<&FleetGpu> = group.gpus.iter().collect();
    gpus.sort_by_key(|gpu| (&gpu.hosts, &gpu.device));
    for gpu in gpus {
        let cell = |roof| {
            let Some(standing) = gpu.on(roof) else { return "-".to_owned() };
            let mark = match standing.verdict {
                Verdict::Slow => "!",
                Verdict::Normal => " ",
                Verdict::NotEnoughData => "?",
            };
            signed_percent(standing.effect) + mark
        };
        let cells = group.roofs.iter().map(|of| cell(of.roof));
        rows.push(std::iter::once(plain(&gpu.place())).chain(cells).collect());
    }
    let lines = columns(&rows, 1..rows[0].len(), page).into_iter().flatten();
    let table: String = lines.map(|line| line + "\n").collect();
    table + "  time over that of the others; ! slow, ? not enough data, - not measured\n"
}

/// Returns the data that verdicts lack, each with the number of GPUs.
fn lacks(group: &FleetGroup) -> Vec<String> {
    let mut lacks: BTreeMap<String, usize> = BTreeMap::new();
    for lack in group.gpus.iter().filter_map(|gpu| gpu.roofs.iter().find_map(|on| on.standing.lack)) {
        *lacks.entry(lack.to_string()).or_default() += 1;
    }
    lacks.into_iter().map(|(lack, gpus)| format!("  {}: {lack}\n", counted(gpus, "GPU"))).collect()
}

/// Returns the first of these texts, and a line about the number of the others.
fn listed(texts: impl Iterator<Item = String>, page: Page) -> String {
    let mut texts: Vec<String> = texts.collect();
    let more = texts.len().saturating_sub(MOST);
    texts.truncate(MOST);
    if more > 0 {
        texts.push(format!("  and {more} more: --json has them all\n"));
    }
    paragraph(&texts.concat(), page)
}
