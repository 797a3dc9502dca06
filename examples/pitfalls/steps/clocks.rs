//! B8: clocks, power and temperature before and during a measurement. This program does not lock clocks.

use gpubench::format;
use gpubench::units::Range;
use gpubench_records::conditions::SensorRange;
use serde_json::json;

use super::Pitfall;
use crate::bench::Bench;
use crate::common::Result;
use crate::table::Table;

/// Reads the sensors around a measurement.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let n = bench.size(4096);
    let measured = bench.naive(&[n])?.remove(0);
    let during = measured.samples.conditions.as_ref().map(|conditions| conditions.during.clone());
    let idle_span = bench.idle.as_ref().map(|reading| SensorRange::of(std::slice::from_ref(reading)));
    let table = Table::new(["SM clock", "memory clock", "power", "temperature", "throttle reasons"])
        .row("before the measurements", cells(idle_span.as_ref()))
        .row(&format!("during a matrix product of {n}"), cells(during.as_ref()))
        .row("source: locked", ["1800 MHz"]);
    Ok(Pitfall {
        row: "B8",
        title: "Ignoring the clock",
        table,
        why: &[
            "`--lock-clocks 1500` locks the clock during a run, `nvidia-smi -lgc 1500` until `nvidia-smi -rgc`. Both need root.",
        ],
        read: json!({ "idle": bench.idle, "size": n, "measured": measured.samples.conditions }),
        drawings: Vec::new(),
    })
}

fn cells(span: Option<&SensorRange>) -> Vec<String> {
    let Some(span) = span else { return vec!["no sensors".to_owned()] };
    fn cell<T: Copy>(range: Option<Range<T>>, shown: impl Fn(T) -> String) -> String {
        range.map(|range| format::from_to(range, shown)).unwrap_or_default()
    }
    vec![
        cell(span.sm_clock, format::clock),
        cell(span.memory_clock, format::clock),
        cell(span.power, format::power),
        cell(span.temperature, |degrees| format!("{degrees} °C")),
        if span.throttle_reasons.is_empty() { "none".to_owned() } else { span.throttle_reasons.join(", ") },
    ]
}
