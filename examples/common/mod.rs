//! Shared by the experiments: flags, measurements, the line that describes the GPU, tables, and files of drawings and runs.

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

/// The module of the measured kernels.
pub(crate) const KERNELS: &str = "gpubench_kernels::cuda";

/// The flags of every experiment. The environment variables of a suite's flags, such as `GPUBENCH_PRECISION`, also apply.
#[derive(Debug, clap::Args)]
pub(crate) struct Flags {
    /// Measure this GPU: a number or UUID
    #[arg(long, value_name = "DEVICE", env = "GPUBENCH_DEVICE", default_value = "0")]
    pub(crate) device: String,

    /// Measure roughly: short warm-ups, at most 50 ms of sampling per case
    #[arg(long, env = "GPUBENCH_QUICK", value_parser = BoolishValueParser::new())]
    pub(crate) quick: bool,

    /// Write drawings, tables and all samples into this folder
    #[arg(long, value_name = "FOLDER", env = "GPUBENCH_OUT")]
    pub(crate) out: Option<PathBuf>,

    /// Print and draw the results of an earlier call with the same flags from this folder, without measuring
    #[arg(long, value_name = "FOLDER")]
    pub(crate) redraw: Option<PathBuf>,
}

impl Flags {
    /// Reads a file of the earlier call, with `--redraw`.
    pub(crate) fn stored<T: DeserializeOwned>(&self, name: &str, suffix: &str) -> Result<Option<T>> {
        let Some(folder) = &self.redraw else { return Ok(None) };
        let file = folder.join(format!("{name}{suffix}"));
        let in_file = |error: &dyn Error| format!("{}: {error}", file.display());
        let json = fs::read(&file).map_err(|error| in_file(&error))?;
        Ok(Some(serde_json::from_slice(&json).map_err(|error| in_file(&error))?))
    }
}

/// Runs an experiment: calls `show`, which measures and prints, and writes all runs.
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

/// A running experiment.
pub(crate) struct Lab<'a> {
    suite: &'a Suite,
    flags: &'a Flags,
    /// The settings of every measurement, from the flags, the environment and the user's file.
    settings: Settings,
    /// Its name, the prefix of its files.
    name: &'static str,
    runs: Vec<Run>,
    /// The runs of the earlier call in their order, with `--redraw`.
    stored: Option<VecDeque<Run>>,
}

impl<'a> Lab<'a> {
    /// Starts the experiment of this name, and prints the line that describes its GPU.
    pub(crate) fn open(suite: &'a Suite, flags: &'a Flags, name: &'static str) -> Result<(Self, DeviceInfo)> {
        // An experiment selects its cases itself.
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
        // A run of an empty launch reports the device.
        let empty = vec![format!("{KERNELS}::empty")];
        let run =
            lab.measure(|settings| Settings { exact: true, filter: empty, quick: Some(true), ..settings })?;
        let info = run.devices.first().cloned().ok_or("the suite reports no device")?;
        println!("{}\n", header(&info));
        Ok((lab, info))
    }

    /// Measures with the settings that `select` returns, and shows the progress.
    pub(crate) fn measure(&mut self, select: impl FnOnce(Settings) -> Settings) -> Result<Run> {
        if let Some(stored) = &mut self.stored {
            return Ok(stored.pop_front().ok_or("the earlier call has fewer runs than this call needs")?);
        }
        let run = self.suite.measure_with(&select(self.settings.clone()), &mut Progress::default())?;
        self.runs.push(run.clone());
        Ok(run)
    }

    /// Writes a file of the experiment, with `--out`.
    pub(crate) fn write(&self, suffix: &str, text: &str) -> Result<()> {
        let Some(folder) = &self.flags.out else { return Ok(()) };
        let file = folder.join(format!("{}{suffix}", self.name));
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()).into())
    }

    /// Writes all runs, with `--out`.
    pub(crate) fn close(self) -> Result<()> {
        if self.flags.redraw.is_some() {
            return Ok(());
        }
        self.write("-runs.json", &(serde_json::to_string(&self.runs)? + "\n"))
    }
}

/// Returns one line with the name of the GPU, its memory, peak bandwidth, clock and L2.
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

/// Returns the measurement of a case, or an error if it failed.
pub(crate) fn measured<'a>(run: &'a Run, name: &str, cache: Cache) -> Result<&'a Measurement> {
    let record = record(run, name, cache)?;
    let reasons: Vec<String> = record.verdict.reasons.iter().map(ToString::to_string).collect();
    record.measurement.as_ref().ok_or_else(|| format!("{name}, {cache}: {}", reasons.join("; ")).into())
}

/// Returns the hot and the cold measurement of a case, or an error if one failed.
pub(crate) fn hot_and_cold<'a>(run: &'a Run, name: &str) -> Result<[&'a Measurement; 2]> {
    Ok([measured(run, name, Cache::Hot)?, measured(run, name, Cache::Cold)?])
}

/// Returns the record of a case.
pub(crate) fn record<'a>(run: &'a Run, name: &str, cache: Cache) -> Result<&'a Record> {
    let found = run.records.iter().find(|record| record.case.name() == name && record.case.cache == cache);
    found.ok_or_else(|| format!("the run has no record of {name}, {cache}").into())
}

/// Formats a rate as a share of the peak; empty if the peak is unknown.
pub(crate) fn of_peak(rate: impl Into<Rate>, quantity: &Quantity, info: &DeviceInfo) -> String {
    info.peak(quantity).map_or_else(String::new, |peak| format::percent(rate.into() / peak.value))
}

/// Returns a line across a drawing at the peak, named `what`, if the peak is known.
pub(crate) fn peak_mark(what: &str, quantity: &Quantity, info: &DeviceInfo) -> Option<ReferenceLine> {
    let peak = info.peak(quantity)?.value;
    Some(ReferenceLine::y(peak.as_f64(), format!("{what}, {}", format::bandwidth(peak.into()))))
}

/// Formats a table. The first column has names, the others numbers.
pub(crate) fn table<const COLUMNS: usize>(head: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let head = head.map(str::to_owned);
    lines(std::iter::once(&head).chain(rows))
}

/// Formats a table whose first row is its head.
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
