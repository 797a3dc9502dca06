//! The rows of the table: a case on all devices of a model, of which the one in the middle is shown; and the reasons against rows, each
//! in full under the first row that it is against, and by its number and the row's own figures with all others.

use gpubench_records::{CaseId, DeviceInfo, Measurement, Reason, Record, Run, State};
use gpubench_stats::{Map, Nanoseconds, format};

use crate::text::{plain, plain_lines};

/// A line of the results table: a case on one device, or on several devices of one model.
pub(super) struct TableRow<'a> {
    /// The record whose figures it has: the one whose median is in the middle; of two in the middle, the faster.
    pub shown: &'a Record,
    /// The records of all devices, in the order of the run.
    pub records: Vec<&'a Record>,
}

impl<'a> TableRow<'a> {
    /// Creates the row of one record.
    pub(super) fn from_record(record: &'a Record) -> Self {
        Self { shown: record, records: vec![record] }
    }

    /// Returns the rows of `records`, which are of one benchmark with its arguments on devices of one model. Records in the same
    /// cache state are one row; a second record of a device begins a new row.
    pub(super) fn all(records: &'a [Record]) -> Vec<Self> {
        let mut rows: Vec<Self> = Vec::new();
        for record in records {
            let is_of = |row: &Self| {
                row.shown.case.cache == record.case.cache
                    && row.records.iter().all(|other| other.device != record.device)
            };
            match rows.iter_mut().find(|row| is_of(row)) {
                Some(row) => row.records.push(record),
                None => rows.push(Self::from_record(record)),
            }
        }
        rows.iter_mut().for_each(|row| row.shown = middle_record(&row.records).unwrap_or(row.shown));
        rows
    }

    /// The worst verdict of its records.
    pub(super) fn state(&self) -> State {
        self.records.iter().map(|record| record.verdict.state).max().unwrap_or(State::Valid)
    }

    /// Returns true if it has the records of several devices.
    pub(super) fn has_several_devices(&self) -> bool {
        self.records.len() > 1
    }

    /// Returns the slowest of several devices, with the percentage by which its time is longer than the one
    /// that is shown, such as `cuda:3 +4.5 %`. If a device has no measurement, returns the first such device
    /// and `failed`. `None` for one device, or if the shown time is not above zero.
    pub(super) fn slowest(&self) -> Option<String> {
        if let Some(failed) = self.records.iter().find(|record| record.measurement.is_none()) {
            return self.has_several_devices().then(|| format!("{} failed", failed.device));
        }
        let (_, slowest) = self.fastest_and_slowest()?;
        Some(format!("{} {}", slowest.device, format::change(median(slowest) / median(self.shown))))
    }

    /// Returns the difference between the slowest and the fastest of several devices, as a percentage of the
    /// time that is shown. `None` for one device, or if the shown time is not above zero.
    pub(super) fn range(&self) -> Option<String> {
        let (fastest, slowest) = self.fastest_and_slowest()?;
        Some(format::percent((median(slowest) - median(fastest)) / median(self.shown)))
    }

    /// Returns the records with the fastest and the slowest median, of those that [`by_median`] keeps. `None` for one
    /// device, or if the shown time is not above zero.
    fn fastest_and_slowest(&self) -> Option<(&'a Record, &'a Record)> {
        let sorted = by_median(&self.records);
        let is_known = self.has_several_devices() && median(self.shown) > Nanoseconds::ZERO;
        Some((*sorted.first()?, *sorted.last()?)).filter(|_| is_known)
    }
}

/// Returns the records with a usable measurement, or those with any measurement if none is usable, from the fastest
/// median to the slowest. Drops the others.
fn by_median<'a>(records: &[&'a Record]) -> Vec<&'a Record> {
    let has_valid = records.iter().any(|record| record.usable_measurement().is_some());
    let mut usable = records.to_vec();
    usable.retain(|it| if has_valid { it.usable_measurement().is_some() } else { it.measurement.is_some() });
    gpubench_stats::sort_by(&mut usable, |one, other| median(one).total_cmp(&median(other)));
    usable
}

/// Returns the record with the middle median of those that [`by_median`] keeps; of two in the middle, the faster.
/// `None` if none was measured.
fn middle_record<'a>(records: &[&'a Record]) -> Option<&'a Record> {
    let sorted = by_median(records);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// Returns the median of a record; 0 without a measurement.
fn median(record: &Record) -> Nanoseconds {
    record.measurement.as_ref().map(Measurement::median).unwrap_or_default()
}

/// Groups the records of `run` by benchmark and arguments: each group has the records of all devices and cache states, in the order
/// of the run's devices. Groups are in the order of their last records, since a live run prints a group when all devices have
/// measured it.
pub(super) fn records_by_benchmark(run: &Run) -> Vec<Vec<&Record>> {
    let mut by_benchmark: Map<_, (usize, Vec<&Record>)> = Map::default();
    for (number, record) in run.records.iter().enumerate() {
        let (last, records) =
            by_benchmark.or_insert((&record.case.benchmark, &record.case.args), (0, Vec::new()));
        *last = number;
        records.push(record);
    }
    let mut groups: Vec<_> = by_benchmark.into_iter().map(|(_, group)| group).collect();
    gpubench_stats::sort_by_key(&mut groups, |(last, _)| *last);
    let order = |record: &&Record| run.devices.iter().position(|info| info.device == record.device);
    groups.iter_mut().for_each(|(_, records)| gpubench_stats::sort_by_key(records, order));
    groups.into_iter().map(|(_, records)| records).collect()
}

/// The sentence that explains rows of several devices.
pub(super) const DEVICE_ROWS_MEANING: &str = "of several devices: each row is that of the one in the middle (of two, the faster); beside it the \
                                  slowest, and the range between the slowest and the fastest";

/// Groups `items`, each a key and a value, by key. Keys are in the order in which they first come, each with its values
/// without repetitions.
pub(super) fn grouped<K: PartialEq, V: PartialEq>(
    items: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in items {
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Devices of a run that are printed together.
pub(super) struct DeviceGroup<'a> {
    /// The properties of each device.
    pub info: Vec<&'a DeviceInfo>,
    /// The names of the devices, as [`device_list`] joins them.
    pub label: String,
}

/// The most devices that are listed by name; of more, only the first and the last are.
const MAX_LISTED_DEVICES: usize = 3;

impl<'a> DeviceGroup<'a> {
    /// Groups the devices of `run` for which `key` returns the same value.
    pub(super) fn by_key<K: PartialEq>(run: &'a Run, key: impl Fn(&'a DeviceInfo) -> K) -> Vec<Self> {
        let groups = grouped(run.devices.iter().map(|info| (key(info), info))).into_iter();
        let devices = groups.map(|(_, info)| {
            let label = device_list(&info.iter().map(|info| &*info.device).collect::<Vec<_>>());
            Self { info, label }
        });
        devices.collect()
    }
}

/// Returns the device names with commas; of more than [`MAX_LISTED_DEVICES`], the first, the last and their number, such as
/// `cuda:0 … cuda:7 (8)`.
pub(super) fn device_list(devices: &[&str]) -> String {
    match devices {
        [first, .., last] if devices.len() > MAX_LISTED_DEVICES => {
            format!("{first} … {last} ({})", devices.len())
        }
        few => few.join(", "),
    }
}

/// Returns true for a reason with words of the user or of the driver. Such reasons share a number only if their texts are equal; others
/// also if only their figures differ.
fn has_own_words(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Failed(_)
            | Reason::FailedAfterwards(_)
            | Reason::LaterOutputsFail(_)
            | Reason::SecondTry(_)
            | Reason::SetupNotRepeatable { .. }
            | Reason::WorkDiffers { .. }
    )
}

/// Returns the words without numbers, the word after each number, which is its unit, and spaces. So reasons that differ only in
/// their figures have equal texts. The result is a key, and not for people.
fn without_numbers(words: &str) -> String {
    let mut after_number = false;
    let is_kept = |word: &&str| {
        let is_number = word.trim_start_matches(['(', '±']).starts_with(|first: char| first.is_ascii_digit());
        !std::mem::replace(&mut after_number, is_number) && !is_number
    };
    words.split(' ').filter(is_kept).collect()
}

/// Returns the part of a reason with its figures: without the name before the first figure, and without the advice after the last.
fn figures(text: &str) -> &str {
    let begin =
        text.find(char::is_numeric).and_then(|first| text[..first].rfind(": ")).map_or(0, |colon| colon + 2);
    let last = text.rfind(char::is_numeric).unwrap_or(0);
    let end = text[last..].find([':', ';']).map_or(text.len(), |end| last + end);
    &text[begin..end]
}

/// The reasons against the rows of a table, each with its number.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The number of each reason and its text in the first row, by its words without numbers (see [`has_own_words`]).
    numbers: Map<String, (usize, String)>,
    /// The cases of the rows that have each reason: those of reason 1 first. A case is there once for each row.
    rows: Vec<Vec<CaseId>>,
}

/// A reason against a row.
pub(super) struct Note {
    /// The number of the reason in the table, from 1.
    pub number: usize,
    /// The best verdict that a result with this reason can have: suspect or invalid.
    pub state: State,
    /// The verdict, the names of the devices if the reason is not against all of the row, and the words. If an
    /// earlier row had this reason, only the row's cache state and own figures; `None` if these are those of the first
    /// row, or in the column `± %`.
    pub text: Option<String>,
}

impl Notes {
    /// Returns the reasons against `row`, and counts the row for each. The note of a reason against only some
    /// devices of the row names these devices.
    pub(super) fn notes_of(&mut self, row: &TableRow<'_>) -> Vec<Note> {
        let reasons = grouped(row.records.iter().flat_map(|record| {
            record.verdict.reasons.iter().map(move |reason| {
                let words = plain_lines(&reason.to_string());
                let kind = if has_own_words(reason) { words.clone() } else { without_numbers(&words) };
                ((reason.state(), kind), (&*record.device, words))
            })
        }));
        let note = |((state, kind), found): ((State, String), Vec<(&str, String)>)| {
            let (mut devices, words): (Vec<&str>, Vec<String>) = found.into_iter().unzip();
            devices.dedup();
            let all = devices.len() == row.records.len();
            let on = if all { String::new() } else { format!(" on {}", plain(&devices.join(", "))) };
            let [kind, text] = [&kind, &words[0]].map(|words| format!("{state}{on}: {words}"));
            self.note_for(&row.shown.case, state, kind, text)
        };
        reasons.into_iter().map(note).collect()
    }

    /// Returns the note for a reason against `case`, and counts the row. Reasons with the same `kind`, their words without
    /// figures, have one number; only the first has all of `text`.
    fn note_for(&mut self, case: &CaseId, state: State, kind: String, text: String) -> Note {
        if let Some((number, first)) = self.numbers.get(&kind) {
            self.rows[number - 1].push(case.clone());
            // The width of an interval that is too wide is in the column `± %`: only its limit can be a figure of the row's own.
            let [own, first] = [&text, first].map(|text| text.rsplit(" wider than ").next());
            let own = (own != first).then(|| format!("{} result: {}", case.cache, figures(&text)));
            return Note { number: *number, state, text: own };
        }
        self.rows.push(vec![case.clone()]);
        let number = self.rows.len();
        self.numbers.insert(kind, (number, text.clone()));
        Note { number, state, text: Some(text) }
    }

    /// Removes the rows of `case` from the counts, because other rows replace them.
    pub(super) fn forget(&mut self, case: &CaseId) {
        self.rows.iter_mut().for_each(|cases| cases.retain(|other| other != case));
    }

    /// Returns the number of rows of each reason that several rows have. `None` if no reason has several rows.
    pub(super) fn shared(&self) -> Option<String> {
        let shared = self.rows.iter().map(Vec::len).enumerate().filter(|(_, rows)| *rows > 1);
        let counts: Vec<String> = shared
            .map(|(note, rows)| format!("[{}] applies to {}", note + 1, format::counted(rows, "result")))
            .collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}
