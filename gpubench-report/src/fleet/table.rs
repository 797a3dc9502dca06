//! The answer about a fleet on a terminal. In: a [`FleetReport`]; out: lines: first the answer, then the slow GPUs with their
//! intervals and reasons, then every GPU if there are few, then the roofs, and last what is missing.

use gpubench_records::fleet::{FleetGpu, FleetGroup, FleetReport, FleetRoof, FleetVerdict};
use gpubench_stats::format::{counted, percent, signed_percent};

use super::words;
use gpubench_table::Page;
use gpubench_table::aligned::columns;
use gpubench_table::style::{BOLD, NOTE, heading, styled};
use gpubench_table::text::{paragraph, plain, wrapped};

/// The number of slow GPUs and of missing parts that a terminal shows.
const MOST: usize = 20;

/// The answer as it is printed on `page`.
#[must_use]
pub fn render(report: &FleetReport, page: Page) -> String {
    let read = format!("{} in {}", counted(report.runs, "run"), counted(report.files, "file"));
    let mut text: String = report.groups.iter().map(|group| answer(group, page)).collect();
    if report.groups.is_empty() {
        text += &heading("no GPU can be judged", &format!(": {read}"), page);
    }
    text.extend(report.groups.iter().map(|group| details(group, report.groups.len() > 1, page)));
    text += &missing(report, page);
    let rules = format!(
        "{read}. Slow: by at least {}, and unlike the other GPUs; on average {} of those called slow may be wrong",
        percent(report.least),
        percent(report.false_discoveries)
    );
    text + "\n" + &paragraph(&rules, page)
}

/// The answer, with the slow GPUs in a line each.
fn answer(group: &FleetGroup, page: Page) -> String {
    let mut text = heading(&words::answer(group), &format!(" ({})", words::size(group)), page);
    let named = 5;
    for gpu in group.slow().take(named) {
        let finding = words::finding(gpu).unwrap_or_default();
        let line = format!("{}: {finding}", words::place(group, gpu));
        text += &lines(&wrapped(&line, "  ", page));
    }
    let left = group.slow().count().saturating_sub(named);
    if left > 0 {
        text += &format!("  and {left} more\n");
    }
    text
}

fn details(group: &FleetGroup, is_one_of_several: bool, page: Page) -> String {
    let name = if is_one_of_several {
        format!(": {} ({})", plain(&group.model), plain(&group.build))
    } else {
        String::new()
    };
    let parts = [
        ("slow GPUs", slow(group, page)),
        ("each GPU", each(group, page)),
        ("roofs", roofs(group, page)),
        ("not enough data", sentences(&words::lacks(group), page)),
    ];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut text: String =
        parts.map(|(title, text)| format!("\n{}{text}", heading(title, &name, page))).collect();
    if let Some(tails) = words::tails(group) {
        text += &styled(&wrapped(&format!("note: {tails}"), "", page), NOTE);
    }
    text
}

/// The slow GPUs, each with its roofs, and under it what is known about it.
fn slow(group: &FleetGroup, page: Page) -> String {
    let slow: Vec<&FleetGpu> = group.slow().take(MOST).collect();
    if slow.is_empty() {
        return String::new();
    }
    let heads = ["GPU", "roof", "time", "95 % interval"].map(str::to_owned).to_vec();
    let mut rows = vec![heads];
    for gpu in &slow {
        for (number, finding) in gpu.findings().into_iter().enumerate() {
            let name = if number == 0 { words::place(group, gpu) } else { String::new() };
            let standing = &finding.standing;
            rows.push(vec![
                name,
                finding.roof.to_string(),
                words::effect(standing),
                words::interval(standing),
            ]);
        }
    }
    let mut shown = columns(&rows, 2..3, page).into_iter();
    let mut text = shown.next().map(|head| lines(&head)).unwrap_or_default();
    for gpu in &slow {
        let findings = gpu.findings();
        text.extend(shown.by_ref().take(findings.len()).map(|row| lines(&row)));
        let known = findings.first().map(|first| format!("{} · {}", plain(&gpu.uuid), words::data(first)));
        // Of many GPUs each has some.
        let suspect = words::suspect(gpu).filter(|_| group.gpus.len() <= words::SHOWN);
        for line in [known, Some(words::sensors(gpu)), suspect].into_iter().flatten() {
            text += &lines(&wrapped(&line, "    ", page));
        }
    }
    let left = group.slow().count() - slow.len();
    if left > 0 {
        text += &format!("  and {left} more: --json has them all\n");
    }
    text
}

/// The effect of each GPU on each roof, if there are few.
fn each(group: &FleetGroup, page: Page) -> String {
    if group.gpus.len() > words::SHOWN {
        return String::new();
    }
    let roofs: Vec<FleetRoof> = group.roofs.iter().map(|it| it.roof).collect();
    let heads = roofs.iter().map(|roof| roof.to_string().replace("memory ", ""));
    let mut rows: Vec<Vec<String>> = vec![std::iter::once("GPU".to_owned()).chain(heads).collect()];
    let mut gpus: Vec<&FleetGpu> = group.gpus.iter().collect();
    gpus.sort_by_key(|gpu| (&gpu.host, &gpu.device));
    for gpu in gpus {
        let cell = |roof: &FleetRoof| {
            gpu.on(*roof).map_or_else(
                || "-".to_owned(),
                |standing| {
                    let mark = match standing.verdict {
                        FleetVerdict::Slow => "!",
                        FleetVerdict::Normal => " ",
                        FleetVerdict::NotEnoughData(_) => "?",
                    };
                    format!("{}{mark}", signed_percent(standing.effect))
                },
            )
        };
        rows.push(std::iter::once(words::place(group, gpu)).chain(roofs.iter().map(cell)).collect());
    }
    let table: String = columns(&rows, 1..rows[0].len(), page).iter().map(|row| lines(row)).collect();
    table + "  time over that of the others; ! slow, ? not enough data, - not measured\n"
}

/// The spreads of each roof.
fn roofs(group: &FleetGroup, page: Page) -> String {
    let heads = ["roof", "cases", "slow", "GPUs differ by", "shared by host", "processes by"];
    let mut rows: Vec<Vec<String>> = vec![heads.map(str::to_owned).to_vec()];
    for of in &group.roofs {
        let slow = group.gpus.iter().filter_map(|gpu| gpu.on(of.roof));
        let slow = slow.filter(|standing| standing.verdict == FleetVerdict::Slow).count();
        let shared = if group.hosts.len() > 1 { percent(of.common_to_host) } else { "-".to_owned() };
        rows.push(vec![
            of.roof.to_string(),
            of.cases.len().to_string(),
            slow.to_string(),
            if group.gpus.len() > 2 { percent(of.between_gpus) } else { "-".to_owned() },
            shared,
            of.between_processes.map_or_else(|| "-".to_owned(), percent),
        ]);
    }
    let table: String = columns(&rows, 1..6, page).iter().map(|row| lines(row)).collect();
    table + &lines(&wrapped("standard deviations, without the slow GPUs", "  ", page))
}

fn missing(report: &FleetReport, page: Page) -> String {
    if report.missing.is_empty() {
        return String::new();
    }
    let gaps: Vec<String> = report.missing.iter().take(MOST).map(|gap| plain(&gap.to_string())).collect();
    let left = report.missing.len() - gaps.len();
    let left = if left > 0 { format!("  and {left} more: --json has them all\n") } else { String::new() };
    format!("\n{BOLD}missing{BOLD:#}\n{}{left}", sentences(&gaps, page))
}

fn sentences(sentences: &[String], page: Page) -> String {
    sentences.iter().map(|sentence| lines(&wrapped(sentence, "  ", page))).collect()
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
