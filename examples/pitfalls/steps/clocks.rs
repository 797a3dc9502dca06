//! B8: clocks, power and temperature. In: the bench; out: the sensors' readings before, during and after the measurement of
//! a product, and the commands that lock clocks, which need rights that this program neither needs nor uses.

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
    let table = Table::new(["SM clock", "memory clock", "power", "temperature", "slowed by"])
        .row("before anything large ran", cells(idle_span.as_ref()))
        .row(&format!("while a product of {n} was measured"), cells(during.as_ref()))
        .row("source: locked by hand", ["1800 MHz"]);
    Ok(Pitfall {
        row: "B8",
        title: "Clocks move, and times with them",
        table,
        why: [
            "`suite --lock-clocks 1500` locks the clock for a run, as root; by hand, `nvidia-smi -lgc 1500` does, and `-rgc` unlocks it.".to_owned(),
            "Locked or not, gpubench reads the sensors beside every case, keeps that, and marks rows whose clock fell.".to_owned(),
        ],
        read: json!({ "idle": bench.idle, "size": n, "measured": measured.samples.conditions }),
        drawings: Vec::new(),
    })
}

fn cells(span: Option<&SensorRange>) -> Vec<String> {
    let Some(span) = span else { return vec!["no sensors".to_owned()] };
    fn told<T: Copy>(range: Option<Range<T>>, shown: impl Fn(T) -> String) -> String {
        range.map(|range| format::from_to(range, shown)).unwrap_or_default()
    }
    vec![
        told(span.sm_clock, format::clock),
        told(span.memory_clock, format::clock),
        told(span.power, format::power),
        told(span.temperature, |degrees| format!("{degrees} °C")),
        if span.throttle_reasons.is_empty() {
            "nothing".to_owned()
        } else {
            span.throttle_reasons.join(", ")
        },
    ]
}
