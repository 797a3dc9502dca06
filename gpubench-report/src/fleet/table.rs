//! Formats the report on a fleet for a terminal: for each model the answer, the slow GPUs, all GPUs if there are
//! few, and what is missing.

use std::collections::BTreeMap;

use gpubench_stats::format::{change, changes, counted, percent, signed_percent};
use gpubench_table::{
    Page,
    text::{columns, heading, paragraph, plain},
};

use super::{FleetGpu, FleetGroup, FleetReport, GpuVerdict};

/// The most entries that a section lists, such as slow GPUs or missing parts. A last line has the number of
/// the others.
const MAX_LISTED: usize = 20;
/// A group of more GPUs has no table of each GPU.
const MAX_TABLE_GPUS: usize = 16;

/// Returns the report as lines of `page`.
pub fn render(report: &FleetReport, page: Page) -> String {
    let read = format!("{} in {}", counted(report.runs, "run"), counted(report.files, "file"));
    let mut text = String::new();
    if report.groups.is_empty() {
        let which = if report.missing.is_empty() { "selected" } else { "valid" };
        let why = format!(": {read} without a {which} result of a GPU");
        text += &heading("no GPU can be judged", &why, page);
    }
    let section = |title: &str, body: &str| match body {
        "" => String::new(),
        body => format!("\n{}{body}", heading(title, "", page)),
    };
    for (number, group) in report.groups.iter().enumerate() {
        text += if number > 0 { "\n" } else { "" };
        text += &group_heading(group, page);
        text += &section("slow GPUs", &first_listed(group.slow_gpus().map(slow_gpu_text), page));
        if group.gpus.len() <= MAX_TABLE_GPUS {
            text += &section("each GPU", &gpu_table(group, page));
        }
        text += &section("not enough data", &first_listed(insufficient_data_lines(group), page));
    }
    let missing = report.missing.iter().map(|sentence| format!("  {sentence}\n"));
    text += &section("left out", &first_listed(missing, page));
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
fn group_heading(group: &FleetGroup, page: Page) -> String {
    let (all, model) = (group.gpus.len(), plain(&group.model));
    let is_judged = group.gpus.iter().any(|gpu| gpu.verdict != GpuVerdict::NotEnoughData);
    let answer = match group.slow_gpus().count() {
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

/// Returns the lines on a slow GPU: its name, its slowdown on each bottleneck, and its unusual properties.
fn slow_gpu_text(gpu: &FleetGpu) -> String {
    let mut text = format!("  {}\n", gpu.full_name());
    for on in gpu.slow_comparisons() {
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

/// Returns a table with the effect of each GPU on each bottleneck.
fn gpu_table(group: &FleetGroup, page: Page) -> String {
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
        rows.push(std::iter::once(plain(&gpu.host_and_device())).chain(cells).collect());
    }
    let lines = columns(&rows, 1..rows[0].len(), page).into_iter().flatten();
    let table: String = lines.map(|line| line + "\n").collect();
    table + "  time over that of the others; ! slow, ? not enough data, - not measured\n"
}

/// Returns a line for each reason for which GPUs have no verdict, with the number of these GPUs. A GPU counts
/// only for the first of its bottlenecks without a verdict.
fn insufficient_data_lines(group: &FleetGroup) -> impl Iterator<Item = String> {
    let mut lacks: BTreeMap<String, usize> = BTreeMap::new();
    for lack in group.gpus.iter().filter_map(|gpu| gpu.roofs.iter().find_map(|on| on.lack)) {
        *lacks.entry(lack.to_string()).or_default() += 1;
    }
    lacks.into_iter().map(|(lack, gpus)| format!("  {}: {lack}\n", counted(gpus, "GPU")))
}

/// Joins the first [`MAX_LISTED`] texts, and adds a line with the number of the others.
fn first_listed(texts: impl Iterator<Item = String>, page: Page) -> String {
    let mut texts: Vec<String> = texts.collect();
    let more = texts.len().saturating_sub(MAX_LISTED);
    texts.truncate(MAX_LISTED);
    if more > 0 {
        texts.push(format!("  and {more} more: --json has them all\n"));
    }
    paragraph(&texts.concat(), page)
}
