//! Draws a box plot of the times, and bars of the bandwidths within the memory and over the bus.

use gpubench::device_info::{DeviceInfo, Quantity};
use gpubench::format;
use gpubench::units::{Bytes, BytesPerSecond, Rate};
use gpubench_report::drawing::{Axis, AxisUnit, ChartRow, ReferenceLine, RowChart, RowStyle};

use crate::common::{Lab, Result};
use crate::{Args, MEMORY, Timed};

/// Writes all drawings.
pub(crate) fn draw(lab: &Lab<'_>, timed: &[Timed<'_>], info: &DeviceInfo, args: &Args) -> Result<()> {
    let circumstances = format!("{}, {} MiB, {} runs each", info.name, args.size, args.repeats);
    lab.write("-times.svg", &spreads(timed, &circumstances).drawing().svg())?;
    let bytes = (args.size << 20) as u64;
    let (within, over): (Vec<_>, Vec<_>) = timed.iter().partition(|timed| timed.transfer.limit == MEMORY);
    lab.write("-within.svg", &within_memory(&within, bytes, info, &circumstances).drawing().svg())?;
    lab.write("-bus.svg", &over_the_bus(&over, bytes, info, &circumstances).drawing().svg())
}

/// Draws the runs of each transfer relative to their median, because medians differ by factors of thousands, and runs by a few percent.
fn spreads(timed: &[Timed<'_>], circumstances: &str) -> RowChart {
    let row = |timed: &Timed<'_>| ChartRow {
        name: timed.transfer.name.to_owned(),
        values: timed.times.iter().map(|time| *time / timed.median - 1.0).collect(),
        note: format::time(timed.median),
    };
    let rows: Vec<ChartRow> = timed.iter().map(row).collect();
    let range = |row: &ChartRow| {
        let ends = row.values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], sample| {
            [low.min(*sample), high.max(*sample)]
        });
        ends[1] - ends[0]
    };
    let shown = |row: &ChartRow| format!("{} ({})", format::percent(range(row)), row.name);
    let least = rows.iter().min_by(|a, b| range(a).total_cmp(&range(b))).map(shown).unwrap_or_default();
    let most = rows.iter().max_by(|a, b| range(a).total_cmp(&range(b))).map(shown).unwrap_or_default();
    RowChart {
        title: format!("The runs of a transfer differ by {least} to {most}"),
        subtitle: format!("{circumstances}: each run relative to the median on the right"),
        axis: Axis::linear_around_values("relative to the transfer's median", AxisUnit::PART),
        look: RowStyle::Boxes,
        series: Vec::new(),
        rows,
        marks: Vec::new(),
    }
}

/// Draws the bandwidth of copies within the memory, by the bytes read and written, and by the bytes that the source counts.
fn within_memory(timed: &[&Timed<'_>], bytes: u64, info: &DeviceInfo, circumstances: &str) -> RowChart {
    let crossing = |timed: &Timed<'_>| Bytes(2 * bytes).per(timed.median);
    let row = |timed: &&Timed<'_>| {
        let counted = Bytes(bytes * timed.transfer.transfers).per(timed.median);
        bar(timed.transfer.name, [crossing(timed), counted].map(BytesPerSecond::as_f64).to_vec())
    };
    let peak = info.peak(&Quantity::MemoryBandwidth).map(|peak| peak.value);
    let shares: Vec<String> =
        timed.iter().filter_map(|timed| Some(format::percent(Rate::from(crossing(timed)) / peak?))).collect();
    RowChart {
        title: match &shares[..] {
            [kernel, driver] => {
                format!("A kernel's copy reaches {kernel} of the memory's peak, the driver's copy {driver}")
            }
            _ => "Copies within the GPU's memory".to_owned(),
        },
        subtitle: format!(
            "{circumstances}, medians. Copies read and write each byte; for memcpyDtoD, the source counts it once"
        ),
        axis: Axis::linear("bandwidth", AxisUnit::GIBIBYTES),
        look: RowStyle::Bars,
        series: vec!["read and written".to_owned(), "counted by the source".to_owned()],
        rows: timed.iter().map(row).collect(),
        marks: peak.map(|peak| limit(peak, "memory peak")).into_iter().collect(),
    }
}

/// Draws the bandwidth of transfers over the bus.
fn over_the_bus(timed: &[&Timed<'_>], bytes: u64, info: &DeviceInfo, circumstances: &str) -> RowChart {
    let rate = |timed: &Timed<'_>| Bytes(bytes * timed.transfer.transfers).per(timed.median);
    let of = |name: &str| timed.iter().find(|timed| timed.transfer.name == name).map(|timed| rate(timed));
    let times = of("pinnedDtoH").zip(of("pagedDtoH")).map(|(pinned, paged)| pinned / paged);
    let peak = info.peak(&Quantity::DeviceToHost).map(|peak| peak.value);
    RowChart {
        title: times.map_or_else(
            || "Transfers over the bus".to_owned(),
            |times| {
                format!(
                    "Transfers to pinned memory are {} as fast as to pageable memory",
                    format::ratio(times)
                )
            },
        ),
        subtitle: format!("{circumstances}, medians"),
        axis: Axis::linear("bandwidth", AxisUnit::GIBIBYTES),
        look: RowStyle::Bars,
        series: Vec::new(),
        rows: timed.iter().map(|timed| bar(timed.transfer.name, vec![rate(timed).as_f64()])).collect(),
        marks: peak.map(|peak| limit(peak, "bus peak, one direction")).into_iter().collect(),
    }
}

fn bar(name: &str, values: Vec<f64>) -> ChartRow {
    ChartRow { name: name.to_owned(), values, note: String::new() }
}

fn limit(peak: Rate, what: &str) -> ReferenceLine {
    let gib = format::number(BytesPerSecond::from(peak).as_gibibytes());
    ReferenceLine::x(peak.as_f64(), format!("{what}, {gib} GiB/s"))
}
