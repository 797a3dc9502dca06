//! Reads the counters of benchmarks from the table of kernels that Nsight Compute prints, for `verify`.

use std::collections::BTreeMap;

use csv::ReaderBuilder;
use gpubench_records::verification::{CountedFlops, PipeInstructions, StallReason};
use gpubench_records::{Counters, NcuPass};
use gpubench_stats::{Bytes, Nanoseconds};

/// The kernel that a profiled benchmark binary launches before each launch of a case. Its number of blocks is
/// the number of the case, from 1.
const MARKER_KERNEL: &str = "gpubench_empty";

/// The metric of a kernel's duration in Nsight Compute. The constants after it are the names of other
/// metrics.
const DURATION: &str = "gpu__time_duration.sum";
const L1_HIT: &str = "l1tex__t_sector_hit_rate.pct";
const L2_HIT: &str = "lts__t_sector_hit_rate.pct";
const DRAM_READ: &str = "dram__bytes_read.sum";
const DRAM_WRITTEN: &str = "dram__bytes_write.sum";
const L2_SECTORS_READ: &str = "lts__t_sectors_op_read.sum";
const L2_SECTORS_WRITTEN: &str = "lts__t_sectors_op_write.sum";
const BUSY_CYCLES: &str = "sm__cycles_active.max";
const CLOCK_RATE: &str = "sm__cycles_elapsed.avg.per_second";
const ACTIVE_WARPS: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
const REGISTERS_PER_THREAD: &str = "launch__registers_per_thread";
/// The metrics of instructions that read and that write local memory, which registers are spilled to.
const LOCAL_MEMORY_ACCESSES: [&str; 2] =
    ["smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum"];
/// The prefix and suffix of the metrics of waiting warps. The part between them is the reason; the value is
/// the mean number of warps that wait for this reason.
const STALL_METRIC: [&str; 2] = ["smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"];
/// The prefix and suffix of the metrics of pipes. The part between them is the name of the pipe; the value is
/// the number of instructions that it executed.
const PIPE_METRIC: [&str; 2] = ["sm__inst_executed_pipe_", ".sum"];
/// The pipes of a multiprocessor whose instructions are counted.
const PIPES: [&str; 9] = ["adu", "alu", "cbu", "fma", "fp16", "fp64", "lsu", "uniform", "xu"];
/// For each data type, its instructions for an addition, for a multiplication, and for a fused multiply-add,
/// which counts as two operations.
const FLOP_INSTRUCTIONS: [(&str, [&str; 3]); 3] =
    [("f32", ["fadd", "fmul", "ffma"]), ("f64", ["dadd", "dmul", "dfma"]), ("f16", ["hadd", "hmul", "hfma"])];

/// Returns the metric with the number of executed thread instructions of this kind.
fn instruction_metric(instruction: &str) -> String {
    format!("smsp__sass_thread_inst_executed_op_{instruction}_pred_on.sum")
}

/// Returns the metrics that every version of Nsight Compute has.
pub(super) fn basic_metrics() -> Vec<String> {
    [DURATION, L1_HIT, L2_HIT, DRAM_READ, DRAM_WRITTEN, ACTIVE_WARPS, REGISTERS_PER_THREAD]
        .map(str::to_owned)
        .to_vec()
}

/// Returns the basic and all other metrics.
pub(super) fn all_metrics() -> Vec<String> {
    let [before, after] = STALL_METRIC;
    let stalls = format!("regex:^{before}[a-z_]+{}$", after.replace('.', r"\."));
    let more = [
        BUSY_CYCLES,
        CLOCK_RATE,
        L2_SECTORS_READ,
        L2_SECTORS_WRITTEN,
        LOCAL_MEMORY_ACCESSES[0],
        LOCAL_MEMORY_ACCESSES[1],
        &stalls,
    ];
    let mut metrics = basic_metrics();
    metrics.extend(more.map(str::to_owned));
    metrics.extend(PIPES.map(|pipe| format!("{}{pipe}{}", PIPE_METRIC[0], PIPE_METRIC[1])));
    metrics
        .extend(FLOP_INSTRUCTIONS.iter().flat_map(|(_, instructions)| instructions.map(instruction_metric)));
    metrics
}

/// The size of a sector of the L2 in bytes.
const SECTOR_BYTES: f64 = 32.0;

/// The kernels of a case in all of its launches.
#[derive(Clone, Default)]
struct CaseKernels<'a> {
    /// The kernels of all launches, in their order.
    all: Vec<&'a ProfiledKernel>,
    /// The number of launches.
    launches: usize,
    /// The largest number of kernels in one launch.
    max_kernels: usize,
}

/// Groups kernels by case: a kernel belongs to the case of the last [`MARKER_KERNEL`] before it. Returns for
/// each of `cases` cases the counters, or the reason that there are none. `failures` has the errors of cases
/// by their indices from 0; a case with an error gets no counters.
pub(super) fn passes_of_cases(
    kernels: &[ProfiledKernel],
    cases: usize,
    failures: &BTreeMap<usize, String>,
) -> Vec<NcuPass> {
    let mut found = vec![CaseKernels::default(); cases];
    let (mut case, mut in_launch) = (None, 0);
    for kernel in kernels {
        if kernel.name.split('(').next() == Some(MARKER_KERNEL) {
            case = kernel.blocks.and_then(|blocks| usize::try_from(blocks).ok()?.checked_sub(1));
            in_launch = 0;
        } else if let Some(found) = case.and_then(|case| found.get_mut(case)) {
            in_launch += 1;
            found.launches += usize::from(in_launch == 1);
            found.max_kernels = found.max_kernels.max(in_launch);
            found.all.push(kernel);
        }
    }
    let passes = found.iter().enumerate().map(|(case, kernels)| match failures.get(&case) {
        Some(why) => NcuPass::Failed(why.clone()),
        None if kernels.all.is_empty() => NcuPass::Failed("ncu profiled no kernel of it".to_owned()),
        None => NcuPass::Counted(Box::new(kernels.counters())),
    });
    passes.collect()
}

impl CaseKernels<'_> {
    /// Returns the counters of one launch, as the mean of all launches.
    fn counters(&self) -> Counters {
        let whole = |value: f64| value.round().max(0.0) as u64;
        let total = |metric: &str| self.total_per_launch(|kernel| kernel.figure(metric));
        let bytes = |metric| total(metric).map(|value| Bytes(whole(value)));
        let sectors = |metric| total(metric).map(|value| Bytes(whole(SECTOR_BYTES * value)));
        // Hits and accesses are counted in different passes, so that few accesses may have more hits.
        let share =
            |metric| self.weighted_mean(metric).map(|percent| percent / 100.0).filter(|share| *share <= 1.0);
        let executed_for = self.total_per_launch(|kernel| {
            let clock = kernel.figure(CLOCK_RATE).filter(|clock| *clock > 0.0)?;
            Some(kernel.figure(BUSY_CYCLES)? / clock * 1e9)
        });
        let [loads, stores] = LOCAL_MEMORY_ACCESSES.map(total);
        Counters {
            launches: self.launches,
            kernels: self.max_kernels,
            duration: total(DURATION).map(Nanoseconds),
            active_time: executed_for.map(Nanoseconds),
            l1_hit: share(L1_HIT),
            l2_hit: share(L2_HIT),
            read: bytes(DRAM_READ),
            written: bytes(DRAM_WRITTEN),
            l2_read: sectors(L2_SECTORS_READ),
            l2_written: sectors(L2_SECTORS_WRITTEN),
            occupancy: share(ACTIVE_WARPS),
            registers: self
                .all
                .iter()
                .filter_map(|kernel| Some(kernel.figure(REGISTERS_PER_THREAD)? as u32))
                .max(),
            spills: loads.zip(stores).map(|(loads, stores)| whole(loads + stores)),
            stall: self.main_stall(),
            pipes: self.pipes(),
            flops: FLOP_INSTRUCTIONS
                .iter()
                .filter_map(|(data_type, instructions)| {
                    let [add, multiply, both] =
                        instructions.map(|instruction| total(&instruction_metric(instruction)));
                    let flops = whole(add? + multiply? + 2.0 * both?);
                    Some(CountedFlops { data_type: (*data_type).to_owned(), flops })
                })
                .collect(),
        }
    }

    /// Returns the sum of a figure over the kernels of a launch, as the mean of all launches; `None` if any
    /// kernel lacks the figure.
    fn total_per_launch(&self, figure: impl Fn(&ProfiledKernel) -> Option<f64>) -> Option<f64> {
        let sum: Option<f64> = self.all.iter().copied().map(figure).sum();
        sum.map(|sum| sum / self.launches as f64)
    }

    /// Returns the mean of a metric over the kernels that have it, weighted by their durations, or by 1 where
    /// a duration is missing. Returns `None` if no kernel has the metric, or if the durations add up to 0.
    fn weighted_mean(&self, metric: &str) -> Option<f64> {
        let known = self
            .all
            .iter()
            .filter_map(|kernel| Some((kernel.figure(metric)?, kernel.figure(DURATION).unwrap_or(1.0))));
        let (sum, weights) = known
            .fold((0.0, 0.0), |(sum, weights), (value, weight)| (sum + value * weight, weights + weight));
        (weights > 0.0).then(|| sum / weights)
    }

    /// Returns the reason for which most warps wait; `None` without such metrics.
    fn main_stall(&self) -> Option<StallReason> {
        let reasons = self.matching_metrics(STALL_METRIC).filter(|(reason, _)| *reason != "selected");
        let known = reasons.filter_map(|(reason, metric)| {
            Some(StallReason { warps: self.weighted_mean(metric)?, reason: reason.to_owned() })
        });
        known.max_by(|a, b| a.warps.total_cmp(&b.warps))
    }

    /// Returns the number of instructions of a launch for each pipe, the most first. Leaves out pipes without
    /// instructions, and pipes whose metric any kernel lacks.
    fn pipes(&self) -> Vec<PipeInstructions> {
        let known = self.matching_metrics(PIPE_METRIC).filter_map(|(pipe, metric)| {
            let instructions = self.total_per_launch(|kernel| kernel.figure(metric))?.round() as u64;
            (instructions > 0).then(|| PipeInstructions { pipe: pipe.to_owned(), instructions })
        });
        let mut pipes: Vec<PipeInstructions> = known.collect();
        pipes.sort_by_key(|pipe| std::cmp::Reverse(pipe.instructions));
        pipes
    }

    /// Returns those metrics of the first kernel whose names have this prefix and suffix: for each, the part
    /// between them, and the whole name.
    fn matching_metrics(&self, [before, after]: [&'static str; 2]) -> impl Iterator<Item = (&str, &str)> {
        let metrics = self.all.first().into_iter().flat_map(|kernel| kernel.figures.keys());
        metrics.filter_map(move |metric| Some((metric.strip_prefix(before)?.strip_suffix(after)?, &**metric)))
    }
}

/// A kernel in the table of Nsight Compute.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProfiledKernel {
    /// Its name.
    pub name: String,
    /// The number of its blocks in x, if known.
    pub blocks: Option<u64>,
    /// Its figures by metric: times in nanoseconds, sizes in bytes.
    pub figures: BTreeMap<String, f64>,
}

impl ProfiledKernel {
    /// Returns the figure of a metric; `None` if the table lacks it.
    fn figure(&self, metric: &str) -> Option<f64> {
        self.figures.get(metric).copied()
    }
}

/// The heading of the column with the names of kernels.
const NAME_COLUMN: &str = "Kernel Name";
/// The heading of the column with the numbers of blocks of kernels, such as `(4, 1, 1)`.
const GRID_COLUMN: &str = "Grid Size";

/// Parses the CSV table that Nsight Compute printed, and returns its kernels in the order of their launches.
/// Skips other text between the lines of the table.
pub(super) fn parse_kernels(printed: &str) -> Vec<ProfiledKernel> {
    let lines = printed.lines().map(str::trim_start).filter(|line| line.starts_with('"'));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut heads: Vec<String> = Vec::new();
    let mut units: Vec<f64> = Vec::new();
    let mut found = Vec::new();
    for row in reader.records().flatten() {
        if row.iter().any(|cell| cell == NAME_COLUMN) {
            // A table may begin again.
            (heads, units) = (row.iter().map(str::to_owned).collect(), Vec::new());
            continue;
        }
        let cell = |head: &str| heads.iter().position(|other| other == head).and_then(|place| row.get(place));
        let Some(name) = cell(NAME_COLUMN) else { continue };
        if name.is_empty() {
            // The row of units has no kernel.
            units = row.iter().map(unit_factor).collect();
            continue;
        }
        let blocks = cell(GRID_COLUMN).and_then(|grid| {
            let first = grid.trim_start_matches('(').split([',', ' ', 'x', ')']).next()?;
            first.parse().ok()
        });
        let figures = heads.iter().zip(row.iter()).enumerate().filter(|(_, (head, _))| head.contains("__"));
        let figures = figures.filter_map(|(place, (head, cell))| {
            Some((head.clone(), parse_number(cell)? * units.get(place).copied().unwrap_or(1.0)))
        });
        found.push(ProfiledKernel { name: name.to_owned(), blocks, figures: figures.collect() });
    }
    found
}

/// Returns the factor from a unit to the base unit, nanoseconds or bytes; 1 for any other unit. Some metrics
/// ignore `--print-units base`.
fn unit_factor(unit: &str) -> f64 {
    match unit.trim() {
        "s" | "second" => 1e9,
        "ms" | "msecond" => 1e6,
        "us" | "usecond" => 1e3,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        _ => 1.0,
    }
}

/// Parses a finite number, which may have commas between thousands; `None` for any other text.
fn parse_number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, blocks: u64, figures: &[(&str, f64)]) -> ProfiledKernel {
        let figures = figures.iter().map(|(metric, value)| ((*metric).to_owned(), *value)).collect();
        ProfiledKernel { name: name.to_owned(), blocks: Some(blocks), figures }
    }

    fn counted(pass: &NcuPass) -> &Counters {
        match pass {
            NcuPass::Counted(counters) => counters,
            NcuPass::Failed(why) => panic!("{why}"),
        }
    }

    #[test]
    fn kernels_of_a_launch_are_summed_and_rates_are_weighted() {
        let short = kernel(
            "a",
            9,
            &[(DURATION, 1000.0), (DRAM_READ, 100.0), (L2_HIT, 10.0), (REGISTERS_PER_THREAD, 32.0)],
        );
        let long = kernel(
            "b",
            9,
            &[(DURATION, 3000.0), (DRAM_READ, 300.0), (L2_HIT, 50.0), (REGISTERS_PER_THREAD, 40.0)],
        );
        let launch = [kernel(MARKER_KERNEL, 2, &[]), short, long];
        let found = passes_of_cases(
            &[launch.clone(), launch].concat(),
            3,
            &BTreeMap::from([(2, "setup: no".to_owned())]),
        );
        assert_eq!(found[0], NcuPass::Failed("ncu profiled no kernel of it".to_owned()));
        assert_eq!(found[2], NcuPass::Failed("setup: no".to_owned()));
        let counters = counted(&found[1]);
        assert_eq!((counters.launches, counters.kernels), (2, 2));
        assert_eq!((counters.duration, counters.read), (Some(Nanoseconds(4000.0)), Some(Bytes(400))));
        assert_eq!((counters.l2_hit, counters.registers), (Some(0.4), Some(40)));
        assert_eq!((counters.written, counters.l1_hit, counters.spills), (None, None, None));
    }

    /// A launch spills if it reads and writes local memory, and moves 32 bytes with each sector of the L2.
    #[test]
    fn local_memory_and_sectors_are_counted() {
        let [loads, stores] = LOCAL_MEMORY_ACCESSES;
        let figures = [(loads, 3.0), (stores, 4.0), (L2_SECTORS_READ, 10.0), (L2_SECTORS_WRITTEN, 2.0)];
        let launch = [kernel(MARKER_KERNEL, 1, &[]), kernel("a", 9, &figures)];
        let found = passes_of_cases(&launch, 1, &BTreeMap::new());
        let counters = counted(&found[0]);
        assert_eq!(counters.spills, Some(7));
        assert_eq!((counters.l2_read, counters.l2_written), (Some(Bytes(320)), Some(Bytes(64))));
    }

    #[test]
    fn what_cannot_be_is_not_known() {
        let stalled = format!("{}wait{}", STALL_METRIC[0], STALL_METRIC[1]);
        let odd = kernel("a", 9, &[(DURATION, 0.0), (&stalled, 1.5), (L2_HIT, 50.0)]);
        let many = kernel("a", 9, &[(L1_HIT, 101.0), (L2_HIT, 100.0)]);
        // The last mark is of a case that nobody asked for.
        let launches = [
            kernel(MARKER_KERNEL, 1, &[]),
            odd,
            kernel(MARKER_KERNEL, 2, &[]),
            many.clone(),
            kernel(MARKER_KERNEL, 3, &[]),
            many,
        ];
        let found = passes_of_cases(&launches, 2, &BTreeMap::new());
        let [odd, many] = [&found[0], &found[1]].map(counted);
        assert_eq!((&odd.stall, odd.l2_hit), (&None, None), "of no time there is no share");
        assert_eq!((many.l1_hit, many.l2_hit, many.launches), (None, Some(1.0), 1), "more than all hit");
    }

    #[test]
    fn execution_is_the_cycles_of_the_busiest_multiprocessor_by_its_clock() {
        let cycles = |cycles| [(BUSY_CYCLES, cycles), (CLOCK_RATE, 1.98e9)];
        let launch =
            [kernel(MARKER_KERNEL, 1, &[]), kernel("a", 9, &cycles(396.0)), kernel("b", 9, &cycles(198.0))];
        let known = |launch: &[ProfiledKernel]| {
            counted(&passes_of_cases(launch, 1, &BTreeMap::new())[0]).active_time.map(|time| time.0.round())
        };
        assert_eq!(known(&launch), Some(300.0));
        assert_eq!(
            known(&[&launch[..], &launch[..]].concat()),
            Some(300.0),
            "of a launch, however many there are"
        );
        // A clock that stands still, and a kernel of which nothing is known.
        let still =
            [kernel(MARKER_KERNEL, 1, &[]), kernel("a", 9, &[(BUSY_CYCLES, 396.0), (CLOCK_RATE, 0.0)])];
        let unknown = [&launch[..], &[kernel("c", 9, &[])]].concat();
        assert_eq!((known(&still), known(&unknown)), (None, None));
    }

    #[test]
    fn reasons_pipes_and_operations_are_told_by_name() {
        let [ffma, fadd, fmul] = ["ffma", "fadd", "fmul"].map(instruction_metric);
        let figures = [
            ("smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 7.5),
            ("smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", 99.0),
            ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", 1.5),
            ("sm__inst_executed_pipe_alu.sum", 10.0),
            ("sm__inst_executed_pipe_fma.sum", 30.0),
            ("sm__inst_executed_pipe_xu.sum", 0.0),
            (&ffma, 100.0),
            (&fadd, 10.0),
            (&fmul, 1.0),
        ];
        let found =
            passes_of_cases(&[kernel(MARKER_KERNEL, 1, &[]), kernel("a", 9, &figures)], 1, &BTreeMap::new());
        let counters = counted(&found[0]);
        assert_eq!(counters.stall.as_ref().map(|stall| &*stall.reason), Some("long_scoreboard"));
        let pipes: Vec<_> = counters.pipes.iter().map(|pipe| (&*pipe.pipe, pipe.instructions)).collect();
        assert_eq!(pipes, [("fma", 30), ("alu", 10)]);
        assert_eq!(counters.flops, [CountedFlops { data_type: "f32".to_owned(), flops: 211 }]);
    }

    #[test]
    fn thousands_may_be_separated() {
        for (text, expected) in [
            ("1234", 1234.0),
            ("12.5", 12.5),
            ("1,234,567", 1_234_567.0),
            ("1,234.5", 1234.5),
            ("-0.5", -0.5),
        ] {
            assert_eq!(parse_number(text), Some(expected), "{text}");
        }
        assert!(["", "n/a", "nan", "inf", "(1, 1, 1)"].iter().all(|text| parse_number(text).is_none()));
    }

    /// Some figures keep their unit, whatever is asked for.
    #[test]
    fn figures_are_in_base_units() {
        for (unit, expected) in [
            ("s", 2e9),
            ("second", 2e9),
            ("ms", 2e6),
            ("msecond", 2e6),
            ("us", 2e3),
            ("usecond", 2e3),
            ("ns", 2.0),
            ("Kbyte", 2e3),
            ("Mbyte", 2e6),
            ("Gbyte", 2e9),
            ("%", 2.0),
        ] {
            let printed = format!("\"Kernel Name\",\"a__b\"\n\"\",\"{unit}\"\n\"sum\",\"2\"\n");
            assert_eq!(parse_kernels(&printed)[0].figure("a__b"), Some(expected), "{unit}");
        }
    }

    #[test]
    fn kernels_stand_between_other_lines() {
        let printed = "\
==PROF== Connected to process 4711 (suite)
==PROF== Profiling \"sum\" - 0: 0%....50%....100% - 8 passes
a line of the program
\"ID\",\"Process ID\",\"Kernel Name\",\"Grid Size\",\"gpu__time_duration.sum\",\"dram__bytes_read.sum\",\"lts__t_sector_hit_rate.pct\"
\"\",\"\",\"\",\"\",\"usecond\",\"Mbyte\",\"%\"
\"0\",\"4711\",\"sum(const float *, long)\",\"(264, 1, 1)\",\"12.5\",\"16.78\",\"n/a\"
==WARNING== something else
\"1\",\"4711\",\"sum\",\"(264, 1, 1)\",\"1,012.5\"
==PROF== Disconnected from process 4711
";
        let found = parse_kernels(printed);
        assert_eq!(found.len(), 2);
        assert_eq!((&*found[0].name, found[0].blocks), ("sum(const float *, long)", Some(264)));
        assert_eq!(found[0].figure("gpu__time_duration.sum"), Some(12_500.0));
        assert_eq!(found[0].figure("dram__bytes_read.sum").map(f64::round), Some(16_780_000.0));
        assert_eq!(found[0].figure("lts__t_sector_hit_rate.pct"), None);
        assert_eq!(
            (found[1].figures.len(), found[1].figure("gpu__time_duration.sum")),
            (1, Some(1_012_500.0))
        );
        assert_eq!(parse_kernels("==ERROR== nothing\n"), []);
    }
}
