//! The parts that experiments share: flags, the description of the GPU, tables, and files of drawings and runs. In: the
//! cases that an experiment selects; out: records, and results on standard output.

#![allow(dead_code, reason = "no experiment uses all of it")]

use std::collections::VecDeque;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::BoolishValueParser;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use gpubench::device_info::{DeviceInfo, Quantity, Value};
use gpubench::record::{Cache, Measurement, Record, Run};
use gpubench::units::Rate;
use gpubench::{Progress, Settings, Suite, format};
use gpubench_report::drawing::ReferenceLine;
use serde::de::DeserializeOwned;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The module of the kernels of these experiments.
pub(crate) const KERNELS: &str = "gpubench_kernels::cuda";

/// The flags of every experiment. The environment's twins of a suite's flags, such as `GPUBENCH_PRECISION`, hold here too.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// The GPU to measure, by number or UUID
    #[arg(long, value_name = "DEVICE", env = "GPUBENCH_DEVICE", default_value = "0")]
    pub(crate) device: String,

    /// A rough look: short warm-ups, at most 50 ms of sampling a case
    #[arg(long, env = "GPUBENCH_QUICK", value_parser = BoolishValueParser::new())]
    pub(crate) quick: bool,

    /// A folder for drawings, tables and all samples; without it the results are only printed
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_OUT")]
    pub(crate) out: Option<PathBuf>,

    /// Print and draw the results that an earlier call with the same flags left in this folder, and measure nothing
    #[arg(long, value_name = "FOLDER")]
    pub(crate) redraw: Option<PathBuf>,
}

impl Flags {
    /// Reads a file of an earlier call, if that is drawn again.
    pub(crate) fn stored<T: DeserializeOwned>(&self, name: &str, suffix: &str) -> Result<Option<T>> {
        let Some(folder) = &self.redraw else { return Ok(None) };
        let file = folder.join(format!("{name}{suffix}"));
        let in_file = |error: &dyn Error| format!("{}: {error}", file.display());
        let json = fs::read(&file).map_err(|error| in_file(&error))?;
        Ok(Some(serde_json::from_slice(&json).map_err(|error| in_file(&error))?))
    }
}

/// Runs an experiment: `show` measures and prints, then all runs are written.
pub(crate) fn experiment<A: Parser>(
    name: &'static str,
    flags: fn(&A) -> &Flags,
    show: impl FnOnce(&mut Lab<'_>, &DeviceInfo, &A) -> Result<()>,
) -> ExitCode {
    gpubench::program(|suite| {
        let args = A::parse();
        let (mut lab, info) = Lab::open(suite, flags(&args), name)?;
        show(&mut lab, &info, &args)?;
        lab.close()
    })
}

/// An experiment under way.
pub(crate) struct Lab<'a> {
    suite: &'a Suite,
    flags: &'a Flags,
    /// The settings of every measurement: those of the flags and of the user's file.
    settings: Settings,
    /// Its name, with which the names of its files begin.
    name: &'static str,
    runs: Vec<Run>,
    /// The runs of an earlier call, in the order in which they were measured, if that is drawn again.
    stored: Option<VecDeque<Run>>,
}

impl<'a> Lab<'a> {
    /// Opens the experiment of this name, and prints its GPU, with the peak of the memory by the sources' formula.
    pub(crate) fn open(suite: &'a Suite, flags: &'a Flags, name: &'static str) -> Result<(Self, DeviceInfo)> {
        // An experiment selects its own cases.
        let settings = Settings {
            filter: Vec::new(),
            device: Some(flags.device.clone()),
            quick: flags.quick.then_some(true),
            ..Settings::from_env()?
        };
        let stored = flags.stored(name, "-runs.json")?.map(|runs: Vec<serde_json::Value>| {
            runs.iter().map(|run| Ok(Run::parse(&serde_json::to_vec(run)?)?)).collect::<Result<_>>()
        });
        let stored = stored.transpose()?;
        let mut lab = Self { suite, flags, settings, name, runs: Vec::new(), stored };
        // A run of an empty launch has the facts of the device.
        let empty = vec![format!("{KERNELS}::empty")];
        let run =
            lab.measure(|settings| Settings { exact: true, filter: empty, quick: Some(true), ..settings })?;
        let info = run.devices.first().cloned().ok_or("the suite tells of no device")?;
        println!("{}\n", header(&info));
        Ok((lab, info))
    }

    /// Measures the cases that `select` adds to the settings of every measurement, and shows the progress.
    pub(crate) fn measure(&mut self, select: impl FnOnce(Settings) -> Settings) -> Result<Run> {
        if let Some(stored) = &mut self.stored {
            return Ok(stored.pop_front().ok_or("the earlier call measured less than this one asks for")?);
        }
        let run = self.suite.measure_with(&select(self.settings.clone()), &mut Progress::default())?;
        self.runs.push(run.clone());
        Ok(run)
    }

    /// Writes a file of the experiment, if a folder is given.
    pub(crate) fn write(&self, suffix: &str, text: &str) -> Result<()> {
        let Some(folder) = &self.flags.out else { return Ok(()) };
        let file = folder.join(format!("{}{suffix}", self.name));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()).into())
    }

    /// Writes all runs, if a folder is given. Their name differs from that of the text, which is not the table of a suite.
    pub(crate) fn close(self) -> Result<()> {
        if self.flags.redraw.is_some() {
            return Ok(());
        }
        self.write("-runs.json", &(serde_json::to_string(&self.runs)? + "\n"))
    }
}

/// The name of the GPU and its sizes, in one line.
fn header(info: &DeviceInfo) -> String {
    let property = |name: &str| info.properties.iter().find(|property| property.name == name);
    let mut words = vec![info.name.clone()];
    if info.fake {
        words.push("FAKE: its times are made up".to_owned());
    }
    if let Some(Value::Bytes(size)) = property("memory").map(|property| &property.value) {
        words.push(format!("memory {}", format::bytes(*size)));
    }
    if let Some(peak) = info.peak(&Quantity::MemoryBandwidth) {
        words.push(format!("peak {} ({})", format::bandwidth(peak.value.into()), peak.method));
    }
    let shown = |clock: &str| {
        property(clock).and_then(|it| match &it.value {
            Value::Hertz(clock) => Some(format::clock(*clock)),
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    };
    if let (Some(clock), Some(bus)) = (shown("memory clock"), shown("bus")) {
        words.push(format!("memory clock {clock}, bus {bus}"));
    }
    if let Some(l2) = info.last_level_cache {
        words.push(format!("L2 {}", format::bytes(l2)));
    }
    words.join(" · ")
}

/// The measurement of a case, by its name and cache state; an error if it failed.
pub(crate) fn measured<'a>(run: &'a Run, name: &str, cache: Cache) -> Result<&'a Measurement> {
    let record = record(run, name, cache)?;
    let told: Vec<String> = record.verdict.reasons.iter().map(ToString::to_string).collect();
    record.measurement.as_ref().ok_or_else(|| format!("{name}, {cache}: {}", told.join("; ")).into())
}

/// The measurements of a case with the data in the L2 and with the L2 empty; an error if one failed.
pub(crate) fn hot_and_cold<'a>(run: &'a Run, name: &str) -> Result<[&'a Measurement; 2]> {
    Ok([measured(run, name, Cache::Hot)?, measured(run, name, Cache::Cold)?])
}

/// The record of a case, by its name and cache state.
pub(crate) fn record<'a>(run: &'a Run, name: &str, cache: Cache) -> Result<&'a Record> {
    let found = run.records.iter().find(|record| record.case.name() == name && record.case.cache == cache);
    found.ok_or_else(|| format!("there is no record of {name}, {cache}").into())
}

/// The share of a peak that a rate is, if the peak is known.
pub(crate) fn of_peak(rate: impl Into<Rate>, quantity: &Quantity, info: &DeviceInfo) -> String {
    info.peak(quantity).map_or_else(String::new, |peak| format::percent(rate.into() / peak.value))
}

/// The peak as a line across a drawing, with `what` it is, if it is known.
pub(crate) fn peak_mark(what: &str, quantity: &Quantity, info: &DeviceInfo) -> Option<ReferenceLine> {
    let peak = info.peak(quantity)?.value;
    Some(ReferenceLine::y(peak.as_f64(), format!("{what}, {}", format::bandwidth(peak.into()))))
}

/// A table as it is printed: the first column holds names, the others numbers.
pub(crate) fn table<const COLUMNS: usize>(head: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let head = head.map(str::to_owned);
    lines(std::iter::once(&head).chain(rows))
}

/// The lines of a table whose first row is its head.
pub(crate) fn lines(rows: impl IntoIterator<Item: AsRef<[String]>>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING);
    rows.into_iter().for_each(|row| _ = table.add_row(row.as_ref()));
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if number > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
    lines.collect()
}
