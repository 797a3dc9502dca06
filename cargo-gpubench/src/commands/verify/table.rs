//! The table that Nsight Compute prints with `--csv --page raw`, read leniently: other lines may come between its lines, columns may be
//! missing, and numbers may be written as in another country.

use std::collections::BTreeMap;

use csv::ReaderBuilder;

/// A kernel that was profiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Profiled {
    /// Its name.
    pub(super) name: String,
    /// The number of its blocks in x, if it is known.
    pub(super) blocks: Option<u64>,
    /// Its figures in base units, by the names of their metrics.
    pub(super) figures: BTreeMap<String, f64>,
}

impl Profiled {
    /// Returns a figure.
    pub(super) fn figure(&self, metric: &str) -> Option<f64> {
        self.figures.get(metric).copied()
    }
}

/// The columns that are no metrics.
const NAME: &str = "Kernel Name";
const GRID: &str = "Grid Size";

/// Reads the kernels.
pub(super) fn read(printed: &str) -> Vec<Profiled> {
    let lines = printed.lines().map(str::trim_start).filter(|line| line.starts_with('"'));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut heads: Vec<String> = Vec::new();
    let mut units: Vec<f64> = Vec::new();
    let mut found = Vec::new();
    for row in reader.records().flatten() {
        if row.iter().any(|cell| cell == NAME) {
            // A table may begin again.
            (heads, units) = (row.iter().map(str::to_owned).collect(), Vec::new());
            continue;
        }
        let cell = |head: &str| heads.iter().position(|other| other == head).and_then(|place| row.get(place));
        let Some(name) = cell(NAME) else { continue };
        if name.is_empty() {
            // The row of units has no kernel.
            units = row.iter().map(factor).collect();
            continue;
        }
        let blocks = cell(GRID).and_then(|grid| {
            let first = grid.trim_start_matches('(').split([',', ' ', 'x', ')']).next()?;
            first.parse().ok()
        });
        let figures = heads.iter().zip(row.iter()).enumerate().filter(|(_, (head, _))| head.contains("__"));
        let figures = figures.filter_map(|(place, (head, cell))| {
            Some((head.clone(), number(cell)? * units.get(place).copied().unwrap_or(1.0)))
        });
        found.push(Profiled { name: name.to_owned(), blocks, figures: figures.collect() });
    }
    found
}

/// The factor from a unit to the base unit, for those that do not follow `--print-units base`.
fn factor(unit: &str) -> f64 {
    match unit.trim() {
        "s" | "second" => 1e9,
        "ms" | "msecond" => 1e6,
        "us" | "usecond" => 1e3,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        _ => 1.0,
    }
}

/// Reads a number with any signs between its digits: of `1,234.5`, `1.234,5`, `1 234,5` and `1'234.5` the last sign is that of
/// decimals. One sign alone, with three digits behind it each time, stands for thousands if it is a comma or comes twice.
fn number(text: &str) -> Option<f64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace() && !['\'', '’', '_'].contains(c)).collect();
    let (commas, points) = (text.matches(',').count(), text.matches('.').count());
    let groups_of_three = |sign: char| {
        let mut parts = text.trim_start_matches('-').split(sign);
        let first = parts.next().is_some_and(|part| (1..=3).contains(&part.len()));
        first && parts.all(|part| part.len() == 3)
    };
    let plain = match (commas, points) {
        (0, 0 | 1) => text,
        (1, 0) if !groups_of_three(',') => text.replace(',', "."),
        (_, 0) => text.replace(',', ""),
        (0, _) => text.replace('.', ""),
        _ if text.rfind(',') > text.rfind('.') => text.replace('.', "").replace(',', "."),
        _ => text.replace(',', ""),
    };
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_any_country_writes_them() {
        for (text, expected) in [
            ("1234", 1234.0),
            ("12.5", 12.5),
            ("1.234", 1.234),
            ("1,234", 1234.0),
            ("1,234,567", 1_234_567.0),
            ("1.234.567", 1_234_567.0),
            ("1,234.5", 1234.5),
            ("1.234,5", 1234.5),
            ("1 234,56", 1234.56),
            ("1\u{202f}234", 1234.0),
            ("1'234.5", 1234.5),
            ("12,5", 12.5),
            ("1234,567", 1234.567),
            ("-1,234", -1234.0),
            ("-0.5", -0.5),
        ] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        assert!(["", "n/a", "nan", "inf", "(1, 1, 1)"].iter().all(|text| number(text).is_none()));
    }

    /// Some figures keep their unit, whatever is asked for.
    #[test]
    fn figures_are_in_base_units() {
        for (unit, expected) in [
            ("s", 2e9),
            ("second", 2e9),
            ("ms", 2e6),
            ("msecond", 2e6),
            ("us", 2e3),
            ("usecond", 2e3),
            ("ns", 2.0),
            ("Kbyte", 2e3),
            ("Mbyte", 2e6),
            ("Gbyte", 2e9),
            ("%", 2.0),
        ] {
            let printed = format!("\"Kernel Name\",\"a__b\"\n\"\",\"{unit}\"\n\"sum\",\"2\"\n");
            assert_eq!(read(&printed)[0].figure("a__b"), Some(expected), "{unit}");
        }
    }

    #[test]
    fn kernels_stand_between_other_lines() {
        let printed = "\
==PROF== Connected to process 4711 (suite)
==PROF== Profiling \"sum\" - 0: 0%....50%....100% - 8 passes
a line of the program
\"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"lts__t_sector_hit_rate.pct\"
\"\",\"\",\"\",\"\",\"usecond\",\"Mbyte\",\"%\"
\"0\",\"4711\",\"sum(const float *, long)\",\"(264, 1, 1)\",\"12.5\",\"16,78\",\"n/a\"
==WARNING== something else
\"1\",\"4711\",\"sum\",\"(264, 1, 1)\",\"1,012.5\"
==PROF== Disconnected from process 4711
";
        let found = read(printed);
        assert_eq!(found.len(), 2);
        assert_eq!((&*found[0].name, found[0].blocks), ("sum(const float *, long)", Some(264)));
        assert_eq!(found[0].figure("gpu__time_duration.sum"), Some(12_500.0));
        assert_eq!(found[0].figure("dram__bytes_read.sum").map(f64::round), Some(16_780_000.0));
        assert_eq!(found[0].figure("lts__t_sector_hit_rate.pct"), None);
        assert_eq!(
            (found[1].figures.len(), found[1].figure("gpu__time_duration.sum")),
            (1, Some(1_012_500.0))
        );
        assert_eq!(read("==ERROR== nothing\n"), []);
    }
}
