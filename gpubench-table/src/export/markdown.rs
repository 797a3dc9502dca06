//! Markdown: the table for a pull request. All text is escaped, so that it is shown as it is and changes no layout.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::{
    case_name, columns::markdown_columns, comparisons, devices, has_several_devices, remarks, rows::TableRow,
    text::join_sections,
};
use gpubench_records::{BaselineComparison, Run, State};
use gpubench_stats::format;

/// Writes `run` as Markdown.
pub(super) fn write_run(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let check = run.baseline_comparison.as_ref().map(baseline_table).unwrap_or_default();
    let parts = [
        devices_and_notes(run),
        results_table(run),
        reasons(run),
        interleaved_table(run),
        check,
        gate_outcome(run),
        remarks::summary(run),
    ];
    out.write_all(join_sections(parts).as_bytes())
}

/// Returns the notes of the run, as quotations, then a line for each device with its name.
fn devices_and_notes(run: &Run) -> String {
    let notes = devices::notes(run).map(|note| format!("> {}\n\n", escaped(&note)));
    let devices = run.devices.iter().map(|info| {
        let fake = if info.fake { " (a fake: its times are made up)" } else { "" };
        format!("**{}**: {}{fake}  \n", escaped(&info.device), escaped(&info.name))
    });
    notes.chain(devices).collect()
}

/// Returns the table of results; empty without records.
fn results_table(run: &Run) -> String {
    if run.records.is_empty() {
        return String::new();
    }
    let (columns, several_devices) = (markdown_columns(run), has_several_devices(run));
    let mut text = table_row(std::iter::once("case").chain(columns.iter().map(|column| column.title)));
    text += "| :--- ";
    text.extend(
        columns.iter().map(|column| if column.cell_format.is_number() { "| ---: " } else { "| :--- " }),
    );
    text += "|\n";
    for record in &run.records {
        let cells: Vec<String> =
            columns.iter().map(|column| column.cell(&TableRow::from_record(record))).collect();
        let on = if several_devices { format!(" on {}", record.device) } else { String::new() };
        let name = record.case.name() + &on;
        text += &table_row(std::iter::once(&*name).chain(cells.iter().map(|cell| &**cell)));
    }
    text
}

/// Returns a line for each reason against each result, and one for each skipped case.
fn reasons(run: &Run) -> String {
    let (mut text, several_devices) = (String::new(), has_several_devices(run));
    // Writing to a string cannot fail.
    for record in &run.records {
        for reason in &record.verdict.reasons {
            let bold = if reason.state() == State::Invalid { "**" } else { "" };
            let (name, words) = (case_name(record, several_devices), reason.to_string());
            _ = writeln!(text, "- {bold}{}{bold} {}: {}", reason.state(), escaped(&name), escaped(&words));
        }
    }
    for skipped in &run.skipped {
        _ = writeln!(text, "- skipped {}: {}", escaped(&skipped.name()), escaped(&skipped.reason));
    }
    text
}

/// Returns the table of interleaved cases; empty if there are none.
fn interleaved_table(run: &Run) -> String {
    let several_devices = has_several_devices(run);
    let rows = run.measured().filter_map(|(record, own)| {
        let compared = record.compared.as_ref()?;
        Some(table_row([
            &*case_name(record, several_devices),
            &*own.median().to_string(),
            &*compared.measurement.median().to_string(),
            &*compared.comparison.ratio.as_ref().map(comparisons::change).unwrap_or_default(),
            &*comparisons::answer_phrase(compared),
        ]))
    });
    let rows: String = rows.collect();
    let head = "**Interleaved**\n\n| case | time | against | change | answer |\n| :--- | ---: | ---: | ---: | :--- |\n";
    if rows.is_empty() { rows } else { format!("{head}{rows}") }
}

/// Returns the table of the comparison with a baseline, and the sentences under it.
fn baseline_table(check: &BaselineComparison) -> String {
    let band = format::plus_minus(check.equivalence_margin);
    let mut text = format!(
        "**Against baseline {}**, where a change within {band} counts as the same\n\n\
         | case | cache | time | was | change | answer |\n| :--- | :--- | ---: | ---: | ---: | :--- |\n",
        escaped(&check.baseline)
    );
    for line in &check.findings {
        let (cache, answer) = (line.cache.to_string(), comparisons::answer_text(&line.finding));
        let [now, then, change, _] = comparisons::time_and_change(&line.finding).unwrap_or_default();
        text += &table_row([&*line.name, &*cache, &*now, &*then, &*change, &*answer]);
    }
    for missing in &check.missing {
        // Writing to a string cannot fail.
        _ = writeln!(text, "\nmissing: {} was not measured", escaped(missing));
    }
    for sentence in comparisons::decision_sentences(check) {
        _ = writeln!(text, "\n{sentence}");
    }
    text
}

/// Returns the regressions and the cases that could not be judged; empty without a gate.
fn gate_outcome(run: &Run) -> String {
    let Some(gate) = run.gate() else { return String::new() };
    let (count, from) = comparisons::regression_count(&gate);
    let mut text = format!("**{count}**{from}\n\n");
    for (case, ratio) in gate.regressions() {
        // Writing to a string cannot fail.
        _ = writeln!(text, "- {}: {}", escaped(&case), comparisons::change(&ratio));
    }
    text.extend(comparisons::unjudged_lines(&gate).iter().map(|line| format!("- **{}**\n", escaped(line))));
    text
}

/// Returns a row of a Markdown table, its cells escaped.
fn table_row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    cells.into_iter().map(|cell| format!("| {} ", escaped(cell))).chain(["|\n".to_owned()]).collect()
}

/// Escapes `text`, so that Markdown shows it as it is. Line breaks become spaces, since a row is a line;
/// other control characters, such as those that colour a terminal, are shown by their codes.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => escaped.push(' '),
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            // GitHub would notify a user of the name after it.
            '@' => escaped += "&#64;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '!' | '#' => escaped.extend(['\\', c]),
            // The same as `escape_unicode`, itself escaped.
            c if c.is_control() => escaped += &format!(r"\\u\{{{:x}\}}", u32::from(c)),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_changes_no_layout() {
        for (text, expected) in [
            ("kernels::saxpy[n=1024, T=f32]", r"kernels::saxpy\[n=1024, T=f32\]"),
            ("a|b\nc\r\nd", r"a\|b c  d"),
            ("\u{1b}[31mred", r"\\u\{1b\}\[31mred"),
            ("<b>&amp; `x` *y* _z_", r"&lt;b&gt;&amp;amp; \`x\` \*y\* \_z\_"),
            ("@all naïve 千 µs ± 0.5 %", "&#64;all naïve 千 µs ± 0.5 %"),
            (r"a\|b", r"a\\\|b"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
