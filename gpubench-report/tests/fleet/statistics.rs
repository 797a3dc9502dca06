//! The verdicts on a fleet, against closed forms and simulations whose truth is known.

#[path = "../../examples/fleet_simulation/simulated.rs"]
mod simulated;

use std::fs;
use std::path::Path;

use gpubench_report::fleet::{
    Bottleneck, Fleet, FleetObservation, GpuComparison, GpuVerdict, InsufficientData, judge,
};
use serde_json::Value;

use self::simulated::{RULES, Scenario, Score, Simulated, USUAL, slow_gpus};

/// A fleet of one roof and case, from the times of each GPU's processes.
fn one_case(times: &[&[f64]]) -> Vec<Vec<GpuComparison>> {
    let mut observations = Vec::new();
    for (gpu, times) in times.iter().enumerate() {
        for time in *times {
            let process = observations.len();
            observations.push(FleetObservation { case: 0, gpu, process, log_time: time.ln() });
        }
    }
    let hosts = vec![0; times.len()];
    judge(Fleet { observations: &observations, roofs: &[Bottleneck::MemoryReads], hosts: &hosts }, RULES)
}

fn standing(result: &[Vec<GpuComparison>], gpu: usize) -> GpuComparison {
    result[gpu][0]
}

/// `sum` of 1 GiB on four H200s of one host, three processes each.
const SUM: [&[f64]; 4] = [
    &[234_320.0, 233_808.0, 233_584.0],
    &[244_400.0, 244_224.0, 244_432.0],
    &[233_632.0, 234_176.0, 233_728.0],
    &[233_744.0, 233_872.0, 233_936.0],
];

#[test]
fn one_gpu_of_four_reads_its_memory_slower() {
    let result = one_case(&SUM);
    let slow = standing(&result, 1);
    assert_eq!(slow.verdict, GpuVerdict::Slow);
    assert!((0.044..0.047).contains(&slow.effect), "{slow:?}");
    assert!(slow.interval[0] > 0.04 && slow.interval[1] < 0.05, "{slow:?}");
    for gpu in [0, 2, 3] {
        assert_eq!(standing(&result, gpu).verdict, GpuVerdict::Normal);
    }
}

/// Two differ by as much, and nothing says which is slow; so may a process that something disturbed.
#[test]
fn too_little_data_is_no_verdict() {
    let lack = |times: &[&[f64]]| -> Vec<InsufficientData> {
        let result = one_case(times);
        let standings = (0..times.len()).map(|gpu| standing(&result, gpu));
        let lacks = standings.filter(|it| it.verdict == GpuVerdict::NotEnoughData).filter_map(|it| it.lack);
        lacks.collect()
    };
    let gpus = InsufficientData::Gpus;
    assert_eq!(lack(&SUM[..2]), [gpus(2); 2]);
    assert_eq!(lack(&SUM[1..]), [gpus(3); 3]);
    let first: Vec<&[f64]> = SUM.iter().map(|times| &times[..1]).collect();
    assert_eq!(lack(&first), [InsufficientData::Processes; 4]);
    let result = one_case(&SUM[..2]);
    assert!((standing(&result, 1).effect - 0.0445).abs() < 0.001, "it is shown all the same");
}

/// Processes that differ by 20 % know a GPU's time to no better than that.
#[test]
fn processes_that_disagree_are_no_verdict() {
    let wild: [&[f64]; 5] =
        [&[1.0, 1.25, 1.1], &[0.9, 1.2, 1.1], &[1.0, 0.8, 1.15], &[1.1, 0.9, 1.0], &[1.3, 1.5, 1.1]];
    let result = one_case(&wild);
    let Some(InsufficientData::Precision(half_width)) = standing(&result, 4).lack else {
        panic!("{:?}", standing(&result, 4));
    };
    assert!(half_width > 0.1, "{half_width}");
}

/// It is certain, and it does not matter.
#[test]
fn a_small_difference_is_not_slow_however_sure() {
    let mut times: Vec<Vec<f64>> = (0..20).map(|gpu| vec![1000.0 + f64::from(gpu % 3) * 0.1; 3]).collect();
    times.push(vec![1005.0; 3]);
    times.push(vec![1015.0; 3]);
    let times: Vec<&[f64]> = times.iter().map(|times| &times[..]).collect();
    let result = one_case(&times);
    assert_eq!(standing(&result, 20).verdict, GpuVerdict::Normal);
    assert_eq!(standing(&result, 21).verdict, GpuVerdict::Slow);
}

#[test]
fn nothing_measured_is_nothing_judged() {
    let roofs = [Bottleneck::MemoryReads, Bottleneck::Compute];
    let result = judge(Fleet { observations: &[], roofs: &roofs, hosts: &[0; 3] }, RULES);
    assert_eq!(result, [[]; 3]);
    let none = judge(Fleet { observations: &[], roofs: &[], hosts: &[] }, RULES);
    assert_eq!(none.len(), 0);
}

/// The findings of a rule in the fleets of these seeds.
fn scored(scenario: Scenario, seeds: std::ops::Range<u64>, rule: impl Fn(&Simulated) -> Vec<bool>) -> Score {
    let mut score = Score::default();
    for seed in seeds {
        let fleet = Simulated::new(scenario, seed);
        fleet.score(&mut score, &rule(&fleet));
    }
    score
}

fn ours(fleet: &Simulated) -> Vec<bool> {
    slow_gpus(&fleet.judged())
}

/// The program `fleet_simulation` does the same with 100 fleets.
#[test]
#[ignore = "slow: .ci/release runs it"]
fn slow_gpus_of_a_thousand_are_found_and_no_others() {
    let score = scored(USUAL, 0..4, ours);
    assert_eq!(score.on_one, score.planted_on_one, "{score:?}");
    assert!(20 * score.everywhere >= 19 * score.planted_everywhere, "{score:?}");
    assert!(100 * score.wrong <= score.found, "{score:?}");
    let simple = [Simulated::beyond_one_sigma_and_a_tenth, Simulated::a_tenth_below_the_best];
    for score in simple.map(|rule| scored(USUAL, 0..4, rule)) {
        assert!(2 * score.everywhere < score.planted_everywhere, "{score:?}");
    }
}

/// At a rate of 1 %, one fleet of a hundred without a slow GPU has one that is called so.
fn sound_fleets(numbers: [(usize, u64, usize); 2]) {
    let sound = Scenario {
        name: "no GPU is slow",
        gpus: 64,
        processes: 2,
        slow_everywhere: 0,
        slow_on_one: 0,
        ..USUAL
    };
    for (gpus, fleets, most) in numbers {
        let score = scored(Scenario { gpus, ..sound }, 0..fleets, ours);
        assert!(score.found <= most, "{} of {gpus}: {score:?}", sound.name);
    }
}

/// A finding in one fleet of ten would be more than these with a probability of 88 % and 98 %.
#[test]
fn a_fleet_without_a_slow_gpu_has_none() {
    sound_fleets([(64, 50, 2), (8, 100, 4)]);
}

#[test]
#[ignore = "slow: .ci/release runs it"]
fn of_many_fleets_without_a_slow_gpu_few_have_one() {
    sound_fleets([(64, 100, 3), (8, 200, 6)]);
}

/// The interval that is given for 95 % holds the planted 3 % in about as many fleets: of writes, where GPUs differ little, with
/// three processes each.
#[test]
fn intervals_hold_the_planted_effect() {
    let scenario = Scenario { gpus: 64, processes: 3, slow_everywhere: 4, slow_on_one: 0, ..USUAL };
    let (mut held, mut all) = (0, 0);
    for seed in 0..25 {
        let fleet = Simulated::new(scenario, seed);
        let result = fleet.judged();
        for gpu in &fleet.slow_everywhere {
            let of_writes = result[*gpu].iter().find(|on| on.roof == Bottleneck::MemoryWrites);
            let standing = of_writes.expect("it was measured");
            all += 1;
            // The GPU's own nature is a part of its effect: half a standard deviation of 0.1 % to either side is allowed.
            held +=
                usize::from(standing.interval[0] - 0.0005 <= 0.03 && 0.03 <= standing.interval[1] + 0.0005);
        }
    }
    assert!(held * 100 >= all * 85, "{held} of {all}");
}

/// Half of a host's GPUs alike, or all: a host that is slow is found as the GPUs that are on it.
#[test]
fn a_slow_host_is_found_by_its_gpus() {
    let mut observations = Vec::new();
    for gpu in 0..64_usize {
        for process in 0..2 {
            let slow = if gpu / 8 == 3 { 0.05 } else { 0.0 };
            let own = 0.001 * ((gpu * 7 % 11) as f64 - 5.0) / 5.0 + 0.0003 * process as f64;
            observations.push(FleetObservation {
                case: 0,
                gpu,
                process: 2 * gpu + process,
                log_time: slow + own,
            });
        }
    }
    let hosts: Vec<usize> = (0..64).map(|gpu| gpu / 8).collect();
    let result =
        judge(Fleet { observations: &observations, roofs: &[Bottleneck::MemoryReads], hosts: &hosts }, RULES);
    let found: Vec<usize> =
        (0..64).filter(|gpu| standing(&result, *gpu).verdict == GpuVerdict::Slow).collect();
    assert_eq!(found, (24..32).collect::<Vec<_>>());
}

/// Of kernels on the four recorded H200s: residuals of processes, over the standard deviation of their case. Copies over PCIe are
/// left out, which the four disturbed for each other.
#[test]
fn processes_differ_by_about_a_normal_distribution() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/four-h200/medians.json");
    let recorded: Value = serde_json::from_slice(&fs::read(file).expect("it is recorded")).expect("JSON");
    let mut residuals = Vec::new();
    for (case, gpus) in recorded["rows"].as_object().expect("cases") {
        if case.contains("transfers") {
            continue;
        }
        let of_gpu = |times: &Value| -> Vec<f64> {
            let logs =
                times.as_array().expect("processes").iter().map(|time| time.as_f64().expect("a time").ln());
            let logs: Vec<f64> = logs.collect();
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            logs.iter().map(|log| log - mean).collect()
        };
        let of_case: Vec<f64> = gpus.as_object().expect("GPUs").values().flat_map(of_gpu).collect();
        let deviation = (of_case.iter().map(|it| it * it).sum::<f64>() / of_case.len() as f64).sqrt();
        residuals.extend(of_case.iter().map(|it| it / deviation));
    }
    let moment =
        |power| residuals.iter().map(|it: &f64| it.powi(power)).sum::<f64>() / residuals.len() as f64;
    assert_eq!(residuals.len(), 204);
    assert!(moment(4) < 3.5 && moment(3).abs() < 0.5, "{} {}", moment(4), moment(3));
}
