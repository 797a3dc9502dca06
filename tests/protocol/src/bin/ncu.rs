//! A stand-in for Nsight Compute: starts the program that it is given on the fake driver, and prints a table of the kernels that ran
//! while the driver's switch for profilers was on, with counters that follow from the memory they touched.
//!
//! `GPUBENCH_FAKE_NCU` has it refuse or print odd tables: `permission`, `virtual`, `mig` and `busy` are refusals; `unknown` one of all
//! metrics but the usual ones; `silent` has no table; `columns` are missing, and it does not end (`hangs`).

#![expect(clippy::print_stdout, reason = "prints what Nsight Compute prints")]

use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::time::Duration;
use std::{env, fs, thread};

use protocol::log::{self, Line};

/// The fake's L2, in which what is written stays.
const L2: u64 = 62_914_560;

fn main() -> ExitCode {
    let asked = env::var("GPUBENCH_FAKE_NCU").unwrap_or_default();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let value = |flag: &str| {
        let place = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(place + 1).map(|value| value.to_string_lossy().into_owned())
    };
    let metrics = value("--metrics").unwrap_or_default();
    let cold = value("--cache-control").as_deref() == Some("all");
    let refused = match &*asked {
        "permission" => {
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0."
        }
        "virtual" => "==ERROR== Profiling is not supported on this device",
        "mig" => "==ERROR== Profiling is not supported on MIG devices",
        "busy" => {
            "==ERROR== Profiling failed because a driver resource was unavailable (ResourceUnavailable)"
        }
        "unknown" if metrics.contains("regex:") => "==ERROR== Failed to find metric regex:^smsp__average",
        "silent" => "==PROF== Connected to process 1",
        _ => "",
    };
    if !refused.is_empty() {
        println!("{refused}");
        return ExitCode::from(1);
    }
    if asked == "hangs" {
        thread::sleep(Duration::from_secs(600));
    }
    let Some(program) = arguments.iter().position(|argument| argument.to_string_lossy().contains('/')) else {
        return ExitCode::from(2);
    };
    let file = env::temp_dir().join(format!("fake-ncu-{}", std::process::id()));
    println!("==PROF== Connected to process 4711 ({})", arguments[program].to_string_lossy());
    let ran = Command::new(&arguments[program])
        .args(&arguments[program + 1..])
        .env("GPUBENCH_FAKE_LOG", &file)
        .status();
    let log = log::read(&fs::read_to_string(&file).unwrap_or_default());
    _ = fs::remove_file(&file);
    print_table(&log, &asked, cold, &metrics);
    println!("==PROF== Disconnected from process 4711");
    ExitCode::from(ran.ok().and_then(|status| status.code()).map_or(1, |code| code as u8))
}

fn print_table(log: &[Line], asked: &str, cold: bool, wanted: &str) {
    let mut metrics = vec![
        "gpu__time_duration.sum",
        "dram__bytes_read.sum",
        "dram__bytes_write.sum",
        "lts__t_sector_hit_rate.pct",
    ];
    metrics.extend([
        "lts__t_sectors_op_read.sum",
        "lts__t_sectors_op_write.sum",
        "launch__registers_per_thread",
    ]);
    let cycles = ["sm__cycles_active.max", "sm__cycles_elapsed.avg.per_second"];
    metrics.extend(cycles.iter().filter(|metric| wanted.contains(**metric)));
    if asked == "columns" {
        metrics.truncate(1);
    }
    let heads = ["ID", "Process ID", "Kernel Name", "Grid Size"].iter().chain(&metrics);
    println!("{}", heads.map(|head| format!("\"{head}\"")).collect::<Vec<_>>().join(","));
    println!(
        "{}",
        ["", "", "", ""]
            .iter()
            .chain(&metrics)
            .map(|head| format!("\"{}\"", unit(head)))
            .collect::<Vec<_>>()
            .join(",")
    );
    let mut on = false;
    for (number, line) in log.iter().enumerate() {
        on = (on || line.is("call", "cuProfilerStart")) && !line.is("call", "cuProfilerStop");
        if !on || line.what != "kernel" {
            continue;
        }
        let blocks = line.words.iter().find_map(|word| word.strip_prefix("blocks=")).unwrap_or("1");
        let bytes = |how| line.memory(how).map_or(0, |range| range.end - range.start);
        let (read, written) = (bytes("read"), bytes("write"));
        let from_memory = if cold { read } else { 0 };
        let figure = |metric: &str| match metric {
            "gpu__time_duration.sum" => line.duration,
            "dram__bytes_read.sum" => from_memory as f64,
            "dram__bytes_write.sum" => written.saturating_sub(L2) as f64,
            "lts__t_sector_hit_rate.pct" => {
                if cold {
                    12.5
                } else {
                    99.5
                }
            }
            // 99 cycles at 1.98 GHz.
            "sm__cycles_active.max" => 99.0,
            "sm__cycles_elapsed.avg.per_second" => 1.98e9,
            "lts__t_sectors_op_read.sum" => (read / 32) as f64,
            "lts__t_sectors_op_write.sum" => (written / 32) as f64,
            _ => 32.0,
        };
        let cells = metrics.iter().map(|metric| written_as(figure(metric)));
        let name = line.words.first().map_or("", |name| &**name);
        println!("==PROF== Profiling \"{name}\" - {number}: 0%....50%....100% - 8 passes");
        println!(
            "\"{number}\",\"4711\",\"{name}(float *, long)\",\"({blocks}, 1, 1)\",{}",
            cells.collect::<Vec<_>>().join(",")
        );
    }
}

fn unit(metric: &str) -> &'static str {
    match metric.rsplit_once("__").map(|(_, what)| what) {
        Some("time_duration.sum") => "ns",
        Some("bytes_read.sum" | "bytes_write.sum") => "byte",
        Some("t_sector_hit_rate.pct") => "%",
        _ => "",
    }
}

/// A number with signs between its digits, as in `1,234.50`.
fn written_as(value: f64) -> String {
    let text = format!("{value:.2}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, "00"));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let text = format!("{grouped}.{part}");
    format!("\"{text}\"")
}
