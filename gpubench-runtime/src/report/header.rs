//! What stands above the results: the notes of a run and the facts of its devices.

use std::fmt::Write;

use super::style::{BOLD, NOTE};
use crate::device::{Facts, Peak, PeakSource, Quantity, facts::Value};
use crate::format;
use crate::units::{BytesPerSecond, FlopsPerSecond};

/// The notes, then for each device its name, its properties and its peaks with their sources.
#[must_use]
pub(super) fn header(notes: &[String], devices: &[Facts]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for note in notes {
        _ = writeln!(text, "{NOTE}{note}{NOTE:#}");
    }
    for facts in devices {
        _ = writeln!(text, "{BOLD}{}{BOLD:#}: {}", facts.device, facts.name);
        if facts.fake {
            _ = writeln!(text, "  {NOTE}FAKE: a stand-in for tests. Its times are made up{NOTE:#}");
        }
        let properties: Vec<String> =
            facts.properties.iter().map(|property| shown(&property.name, &property.value)).collect();
        if !properties.is_empty() {
            _ = writeln!(text, "  {}", properties.join(" · "));
        }
        for peak in &facts.peaks {
            _ = writeln!(text, "  peak {}", shown_peak(peak));
        }
    }
    text
}

fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Count(count) => format!("{count} {name}"),
        Value::Bytes(size) => format!("{name} {}", format::bytes(*size)),
        Value::Hertz(clock) => format!("{name} {}", format::clock(*clock)),
        Value::Text(text) => format!("{name} {text}"),
    }
}

fn shown_peak(peak: &Peak) -> String {
    let limit = match &peak.quantity {
        Quantity::MemoryBandwidth => {
            format!("memory bandwidth {} GB/s", format::gigabytes(BytesPerSecond(peak.value)))
        }
        Quantity::Compute(precision) => {
            format!("{precision} {} GFLOP/s", format::gigaflops(FlopsPerSecond(peak.value)))
        }
    };
    let source = match peak.source {
        PeakSource::Attribute => "from attributes",
        PeakSource::Measured => "measured",
    };
    format!("{limit} ({source}: {})", peak.method)
}
