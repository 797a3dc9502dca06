//! B7: hot and cold times of two matrix products by size, and the increase (cold − hot) / hot with two kinds of flush.

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

/// The sizes in the table.
const SHOWN: [usize; 6] = [256, 512, 1024, 2048, 4096, 6144];
/// The last size of the source's curve, and the last size here, with matrices several times as large as any L2.
const THEIRS: usize = 2048;
const LAST: usize = 6144;
/// The source's increases.
const STATED: [(usize, &str); 3] = [(256, "up to 5 %"), (1024, "under 0.5 %"), (2048, "under 0.5 %")];

/// The times of a matrix product by size.
#[derive(Serialize, Deserialize)]
pub(super) struct MatmulTimes {
    #[serde(rename = "product")]
    name: String,
    hot: BTreeMap<usize, Nanoseconds>,
    /// After gpubench's usual flush.
    cold: BTreeMap<usize, Nanoseconds>,
    /// After the flush `write`, as in the source.
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
        MatmulTimes::measured(bench, "naive", "naive kernel", &sizes)?,
        MatmulTimes::measured(bench, "registers", "register-tiled kernel", &tiled)?,
    ];
    let mut table = Table::new(["matrices", "hot", "cold", "increase", "cold, `write`", "increase"]);
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
        table = table.row(&format!("source: 4 MiB of L2, {n}"), cells);
    }
    Ok(Pitfall {
        row: "B7",
        title: "Repeating a launch on cached data",
        table,
        why: &["The increase is small where the matrices are larger than the L2."],
        drawings: vec![("-flush.svg", drawing(&products, &bench.device))],
        read: json!(products),
    })
}

/// Draws a panel for each kernel. The increases with both flushes are nearly equal, so one is a line and the other are points.
pub(super) fn drawing(products: &[MatmulTimes], device: &DeviceInfo) -> String {
    // The size at which three square matrices of f32 are as large as the cache.
    let full = device.last_level_cache.map(|cache| (cache.as_f64() / 12.0).sqrt());
    let panel = |product: &MatmulTimes| Panel {
        y: Axis::linear(&*product.name, AxisUnit::PART),
        series: vec![
            PlotSeries::new("usual flush", product.increase(&product.cold)),
            PlotSeries::new("flush `write`", product.increase(&product.written))
                .with_style(SeriesStyle::Points),
        ],
        marks: full.map(|n| ReferenceLine::x(n, "matrices as large as the L2")).into_iter().collect(),
    };
    let increases = products.first().map(|product| product.increase(&product.cold)).unwrap_or_default();
    let largest = increases.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    Panels {
        title: largest.zip(increases.last()).map_or_else(String::new, |((n, most), (last_n, last))| {
            let [most, last] = [most, last].map(|increase| format::percent(*increase));
            format!("Cold launches take {most} longer at size {n}, and {last} longer at size {last_n}")
        }),
        subtitle: format!("{}, increase of the cold time relative to the hot time", device.name),
        x: Axis::log2("matrix size", AxisUnit::NUMBER),
        panels: products.iter().map(panel).collect(),
        shares_legend: true,
    }
    .drawing()
    .svg()
}
