//! The answer about a fleet on a terminal: of each model first the answer, then the slow GPUs with their intervals, every GPU if
//! there are few, and last what is missing.

use std::collections::BTreeMap;

use gpubench_stats::format::{change, changes, counted, percent, signed_percent};
use gpubench_table::{
    Page,
    aligned::columns,
    style::heading,
    text::{paragraph, plain},
};

use super::{FleetGpu, FleetGroup, FleetReport, GpuVerdict};

/// The number of slow GPUs and of missing parts that a terminal shows.
const MOST: usize = 20;
/// The largest number of GPUs of which each has a line.
const SHOWN: usize = 16;

/// Returns the answer as lines of `page`.
pub fn render(report: &FleetReport, page: Page) -> String {
    let read = format!("{} in {}", counted(report.runs, "run"), counted(report.files, "file"));
    let mut text = String::new();
    if report.groups.is_empty() {
        let why = match report {
            FleetReport { files: 0, .. } => "no run file was found there: give the files that `cargo bench -- --json FILE` wrote, or a folder of them".to_owned(),
            _ if report.missing.is_empty() => format!("{read} without a selected result of a GPU"),
            _ => format!("{read} without a valid result of a GPU"),
        };
        text += &heading("no GPU can be judged", &format!(": {why}"), page);
    }
    let section = |title: &str, body: &str| match body {
        "" => String::new(),
        body => format!("\n{}{body}", heading(title, "", page)),
    };
    for (number, group) in report.groups.iter().enumerate() {
        text += if number > 0 { "\n" } else { "" };
        text += &answer(group, page);
        text += &section("slow GPUs", &listed(group.slow().map(slow), page));
        if group.gpus.len() <= SHOWN {
            text += &section("each GPU", &each(group, page));
        }
        text += &section("not enough data", &listed(lacks(group), page));
    }
    let missing = report.missing.iter().map(|sentence| format!("  {sentence}\n"));
    text += &section("left out", &listed(missing, page));
    if report.groups.is_empty() {
        return text;
    }
    let rules = format!(
        "\n{read}. Slow: by at least {}, and unlike the other GPUs; false discovery rate {}",
        percent(report.least),
        percent(report.false_discoveries)
    );
    text + &paragraph(&rules, page)
}

/// Returns the answer about a group, such as "1 of 4 NVIDIA H200 is slow".
fn answer(group: &FleetGroup, page: Page) -> String {
    let (all, model) = (group.gpus.len(), plain(&group.model));
    let is_judged = group.gpus.iter().any(|gpu| gpu.verdict != GpuVerdict::NotEnoughData);
    let answer = match group.slow().count() {
        0 if !is_judged => format!("not enough data about {all} {model}"),
        0 => format!("none of {all} {model} is slow"),
        1 => format!("1 of {all} {model} is slow"),
        slow => format!("{slow} of {all} {model} are slow"),
    };
    let fake = if group.fake { " (FAKE: a fake driver for tests, whose times are invented)" } else { "" };
    let cases = group.roofs.iter().map(|of| of.cases.len()).sum();
    let (hosts, cases) = (counted(group.hosts.len(), "host"), counted(cases, "case"));
    let size = format!(" ({hosts}, {cases}, {})", plain(&group.build));
    heading(&(answer + fake), &size, page)
}

/// Returns a slow GPU with its roofs and its differences from what is usual.
fn slow(gpu: &FleetGpu) -> String {
    let mut text = format!("  {}\n", gpu.name());
    for on in gpu.findings() {
        let [low, high] = on.interval.map(|end| 1.0 + end);
        text += &format!(
            "    {}: {} {}, {}, {}\n",
            on.roof,
            change(1.0 + on.effect),
            changes(low, high),
            counted(on.cases, "case"),
            counted(on.processes, "process"),
        );
    }
    if !gpu.reasons.is_empty() {
        text += &format!("    unlike most: {}\n", gpu.reasons.join("; "));
    }
    text
}

/// Returns the effect of each GPU on each roof.
fn each(group: &FleetGroup, page: Page) -> String {
    let heads = group.roofs.iter().map(|of| of.roof.to_string().replace("memory ", ""));
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("GPU".to_owned()).chain(heads).collect()];
    for gpu in &group.gpus {
        let cell = |roof| {
            let Some(on) = gpu.roofs.iter().find(|on| on.roof == roof) else { return "-".to_owned() };
            let mark = match on.verdict {
                GpuVerdict::Slow => "!",
                GpuVerdict::Normal => " ",
                GpuVerdict::NotEnoughData => "?",
            };
            signed_percent(on.effect) + mark
        };
        let cells = group.roofs.iter().map(|of| cell(of.roof));
        rows.push(std::iter::once(plain(&gpu.place())).chain(cells).collect());
    }
    let lines = columns(&rows, 1..rows[0].len(), page).into_iter().flatten();
    let table: String = lines.map(|line| line + "\n").collect();
    table + "  time over that of the others; ! slow, ? not enough data, - not measured\n"
}

/// Returns the data that verdicts lack, each with the number of GPUs.
fn lacks(group: &FleetGroup) -> impl Iterator<Item = String> {
    let mut lacks: BTreeMap<String, usize> = BTreeMap::new();
    for lack in group.gpus.iter().filter_map(|gpu| gpu.roofs.iter().find_map(|on| on.lack)) {
        *lacks.entry(lack.to_string()).or_default() += 1;
    }
    lacks.into_iter().map(|(lack, gpus)| format!("  {}: {lack}\n", counted(gpus, "GPU")))
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
