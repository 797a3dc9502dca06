//! B7: caches that are still warm from the last launch. In: the bench; out: hot and cold times over sizes, and the
//! relative increase (cold − hot) / hot, of the sources' product and of a faster one, behind two kinds of flush.

use std::collections::BTreeMap;
use std::time::Duration;

use gpubench::device_info::DeviceInfo;
use gpubench::record::Cache;
use gpubench::settings::{ArgValues, CacheStates, FlushChoice, Percent, WarmUp};
use gpubench::units::{Bytes, Nanoseconds};
use gpubench::{Settings, format};
use gpubench_report::drawing::{Axis, AxisUnit, Panel, Panels, PlotSeries, ReferenceLine, SeriesStyle};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Pitfall;
use crate::bench::{Bench, above, times};
use crate::common::Result;
use crate::table::Table;

/// Sizes of the table.
const SHOWN: [usize; 6] = [256, 512, 1024, 2048, 4096, 6144];
/// The last size of the source's curve, and of ours, whose matrices are several times the largest L2.
const THEIRS: usize = 2048;
const LAST: usize = 6144;
/// The source's statements on its curve.
const STATED: [(usize, &str); 3] = [(256, "up to 5 %"), (1024, "under 0.5 %"), (2048, "under 0.5 %")];

/// The times of a product by its sizes.
#[derive(Serialize, Deserialize)]
pub(super) struct MatmulTimes {
    #[serde(rename = "product")]
    name: String,
    hot: BTreeMap<usize, Nanoseconds>,
    /// Behind gpubench's own flush.
    cold: BTreeMap<usize, Nanoseconds>,
    /// Behind one that writes, as the source's does.
    written: BTreeMap<usize, Nanoseconds>,
}

impl MatmulTimes {
    fn measured(bench: &Bench<'_>, kernel: &str, name: &str, sizes: &[usize]) -> Result<Self> {
        let product = |cache, settings: Settings| Settings {
            filter: vec![format!("matmul::{kernel}")],
            arg: vec![ArgValues::new("n", sizes)],
            precision: Some(Percent(0.1)),
            warmup: Some(WarmUp::Time(Duration::from_millis(30))),
            max_time: Some(Duration::from_millis(300)),
            cache: Some(cache),
            ..settings
        };
        let both = bench.measure(|settings| product(CacheStates::Both, settings))?;
        let [hot, cold] = [Cache::Hot, Cache::Cold].map(|cache| times(&both, kernel, sizes, cache));
        let (hot, cold) = (hot?, cold?);
        let flush = Some(FlushChoice::Write);
        let written = bench.measure(|settings| Settings { flush, ..product(CacheStates::Cold, settings) })?;
        let written = times(&written, kernel, sizes, Cache::Cold)?;
        Ok(Self { name: name.to_owned(), hot, cold, written })
    }

    /// The increase over the hot time.
    fn increase(&self, cold: &BTreeMap<usize, Nanoseconds>) -> Vec<(f64, f64)> {
        let point =
            |(n, hot): (&usize, &Nanoseconds)| cold.get(n).map(|cold| (*n as f64, *cold / *hot - 1.0));
        self.hot.iter().filter_map(point).collect()
    }
}

/// Measures it.
pub(crate) fn show(bench: &Bench<'_>) -> Result<Pitfall> {
    let (theirs, last) = (bench.size(THEIRS), bench.size(LAST));
    let first = bench.size(256);
    let mut sizes: Vec<usize> = (first..=theirs).step_by(bench.step).collect();
    sizes.extend((theirs..=last).step_by(512.min(bench.step * 16)).skip(1));
    let mut tiled: Vec<usize> = sizes.iter().map(|n| n.next_multiple_of(128)).collect();
    tiled.dedup();
    let products = [
        MatmulTimes::measured(bench, "naive", "the source's product", &sizes)?,
        MatmulTimes::measured(bench, "registers", "from registers", &tiled)?,
    ];
    let mut table = Table::new(["matrices", "hot", "cold", "increase", "written", "increase"]);
    for product in &products {
        for n in bench.sizes(SHOWN) {
            let (Some(hot), Some(cold), Some(written)) =
                (product.hot.get(&n), product.cold.get(&n), product.written.get(&n))
            else {
                continue;
            };
            let bytes = format::bytes(Bytes(12 * (n * n) as u64));
            let [cold, more, written, more_written] =
                [format::time(*cold), above(*cold, *hot), format::time(*written), above(*written, *hot)];
            let cells = [bytes, format::time(*hot), cold, more, written, more_written];
            table = table.row(&format!("{}, {n}", product.name), cells);
        }
    }
    for (n, stated) in STATED.iter().filter(|(n, _)| sizes.contains(n)) {
        let none = String::new;
        let cells =
            [format::bytes(Bytes(12 * (n * n) as u64)), none(), none(), none(), none(), (*stated).to_owned()];
        table = table.row(&format!("the source (4 MiB of L2), {n}"), cells);
    }
    Ok(Pitfall {
        row: "B7",
        title: "The last launch left its data in the cache",
        table,
        why: [
            "Run again and again on the same data, a kernel finds in the L2 what in use it would not: hot is too fast.".to_owned(),
            "Past what the L2 holds there is nothing to find. (Flushed by writing is the source's way; its write-backs cost \
             kernels that are bound by memory.)"
                .to_owned(),
        ],
        drawings: vec![("-flush.svg", drawing(&products, &bench.device))],
        read: json!(products),
    })
}

/// Draws a panel for each product. Both kinds of flush cost it the same, so that one is a line and the other markers on it.
pub(super) fn drawing(products: &[MatmulTimes], device: &DeviceInfo) -> String {
    // Three square matrices of f32 fill the cache.
    let full = device.last_level_cache.map(|cache| (cache.as_f64() / 12.0).sqrt());
    let panel = |product: &MatmulTimes| Panel {
        y: Axis::linear(&*product.name, AxisUnit::PART),
        series: vec![
            PlotSeries::new("behind a flush that leaves the L2 clean", product.increase(&product.cold)),
            PlotSeries::new("behind one that writes", product.increase(&product.written))
                .with_style(SeriesStyle::Points),
        ],
        marks: full.map(|n| ReferenceLine::x(n, "the matrices fill the L2")).into_iter().collect(),
    };
    let increases = products.first().map(|product| product.increase(&product.cold)).unwrap_or_default();
    let largest = increases.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Panels {
        title: largest.zip(increases.last()).map_or_else(String::new, |((n, most), (last_n, last))| {
            let [most, last] = [most, last].map(|increase| format::percent(*increase));
            format!("From an empty L2 a product of {n} takes {most} more time, one of {last_n} {last} more")
        }),
        subtitle: format!("{}, increase over the time with data in the L2, by the matrix size", device.name),
        x: Axis::log2("matrix size", AxisUnit::NUMBER),
        panels: products.iter().map(panel).collect(),
        shares_legend: true,
    }
    .drawing()
    .svg()
}
