//! The answer about a fleet on a terminal: first the answer, then the slow GPUs with their intervals and reasons, every GPU if there
//! are few, and last what is missing.

use std::collections::{BTreeMap, BTreeSet};

use gpubench_stats::format::{change, changes, counted, percent, signed_percent};
use gpubench_table::Page;
use gpubench_table::aligned::columns;
use gpubench_table::style::heading;
use gpubench_table::text::{paragraph, plain, wrapped};

use super::{FEWEST_GPUS, FleetGpu, FleetGroup, FleetReport, FleetRoof, GpuRoof, Lack, MANY_GPUS, Verdict};

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
        let name = if report.groups.len() > 1 { several } else { String::new() };
        let few = group.gpus.len() <= SHOWN;
        for (title, body) in [
            ("slow GPUs", slow(group, page)),
            ("each GPU", if few { each(group, page) } else { String::new() }),
            ("not enough data", lacks(group).iter().map(|lack| indented(lack, 2, page)).collect()),
        ] {
            if !body.is_empty() {
                text += &format!("\n{}{body}", heading(title, &name, page));
            }
        }
    }
    if !report.missing.is_empty() {
        text += &format!("\n{}", heading("missing", "", page));
        text.extend(report.missing.iter().take(MOST).map(|sentence| indented(&plain(sentence), 2, page)));
        text += &more(report.missing.len(), MOST, ": --json has them all");
    }
    let rules = format!(
        "{read}. Slow: by at least {}, and unlike the other GPUs; on average {} of those called slow may be wrong",
        percent(report.least),
        percent(report.false_discoveries)
    );
    text + "\n" + &paragraph(&rules, page)
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

/// Returns the slow GPUs, each with its roofs, and under it what is known about it.
fn slow(group: &FleetGroup, page: Page) -> String {
    let mut rows = vec![["GPU", "roof", "time", "95 % interval"].map(str::to_owned).to_vec()];
    // The lines under each row.
    let mut notes: Vec<Vec<String>> = vec![Vec::new()];
    for gpu in group.slow().take(MOST) {
        let mut name = place(group, gpu);
        for GpuRoof { roof, standing } in gpu.findings() {
            let [low, high] = standing.interval.map(|end| 1.0 + end);
            let time = change(1.0 + standing.effect);
            rows.push(vec![std::mem::take(&mut name), roof.to_string(), time, changes(low, high)]);
            notes.push(Vec::new());
        }
        let first = gpu.findings()[0].standing;
        let processes = match first.processes {
            1 => "1 process".to_owned(),
            more => format!("{more} processes that differ by {}", percent(first.between_processes)),
        };
        let known = format!("{} · {}, {processes}", plain(&gpu.uuid), counted(first.cases, "case"));
        let reasons: Vec<String> = gpu.reasons.iter().map(|reason| plain(reason)).collect();
        let usual = || "its sensors and properties show nothing unusual".to_owned();
        let sensors = if reasons.is_empty() { usual() } else { reasons.join("; ") };
        let last = notes.len() - 1;
        notes[last] = vec![known, sensors];
    }
    if rows.len() == 1 {
        return String::new();
    }
    let row = |(row, notes): (Vec<String>, Vec<String>)| {
        lines(&row) + &notes.iter().map(|note| indented(note, 4, page)).collect::<String>()
    };
    let text: String = columns(&rows, 2..3, page).into_iter().zip(notes).map(row).collect();
    text + &more(group.slow().count(), MOST, ": --json has them all")
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
        rows.push(std::iter::once(place(group, gpu)).chain(cells).collect());
    }
    let table: String = columns(&rows, 1..rows[0].len(), page).iter().map(|row| lines(row)).collect();
    table + "  time over that of the others; ! slow, ? not enough data, - not measured\n"
}

/// Returns the verdicts that lack data, a sentence for each reason, with the roofs.
fn lacks(group: &FleetGroup) -> Vec<String> {
    let mut lacks: BTreeMap<String, BTreeMap<FleetRoof, usize>> = BTreeMap::new();
    for on in group.gpus.iter().flat_map(|gpu| &gpu.roofs) {
        let what = match on.standing.lack {
            None => continue,
            Some(Lack::Gpus(gpus)) => {
                let are = if gpus == 1 { "is" } else { "are" };
                format!("a verdict needs at least {FEWEST_GPUS} GPUs, and there {are} {gpus}")
            }
            Some(Lack::Processes) => format!(
                "one process on each of fewer than {MANY_GPUS} GPUs: a second tells a slow GPU from a disturbed process"
            ),
            Some(Lack::Precision(half)) if group.gpus.len() <= SHOWN => {
                format!("its effect is known to ± {} only", percent(half))
            }
            Some(Lack::Precision(_)) => "their processes or cases differ too much for a verdict".to_owned(),
        };
        *lacks.entry(what).or_default().entry(on.roof).or_default() += 1;
    }
    let sentence = |(what, roofs): (String, BTreeMap<FleetRoof, usize>)| {
        let names: Vec<String> = roofs.keys().map(ToString::to_string).collect();
        let on = if names.len() == group.roofs.len() { "all roofs".to_owned() } else { names.join(", ") };
        format!("{on}, {}: {what}", counted(roofs.into_values().max().unwrap_or_default(), "GPU"))
    };
    lacks.into_iter().map(sentence).collect()
}

/// Returns the host and the device there; the host without its domain if the names of hosts are different without.
fn place(group: &FleetGroup, gpu: &FleetGpu) -> String {
    let label = |host: &str| host.split('.').next().unwrap_or_default().to_owned();
    let labels: BTreeSet<String> = group.hosts.iter().map(|host| label(host)).collect();
    // The first part of an address is a number.
    let is_short =
        labels.len() == group.hosts.len() && labels.iter().all(|label| label.contains(char::is_alphabetic));
    let host = gpu.host();
    plain(&if is_short { format!("{} {}", label(&host), gpu.device) } else { gpu.place() })
}

/// Returns a line about those of `all` that are not shown.
fn more(all: usize, shown: usize, where_else: &str) -> String {
    if all > shown { format!("  and {} more{where_else}\n", all - shown) } else { String::new() }
}

fn indented(text: &str, columns: usize, page: Page) -> String {
    lines(&wrapped(text, &" ".repeat(columns), page))
}

fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}
