//! Writes files of runs as a fleet has them: `fleet_files FOLDER four-h200`, the recorded four H200s, or `fleet_files FOLDER
//! 1000`, this many GPUs with 120 cases of 100 samples each. Of these, each fiftieth is 3 % slower on all cases.

mod made;

use std::path::Path;
use std::{env, fs};

use serde_json::Value;

use self::made::{GpuPlacement, four_h200s, run_at, template, write};

/// GPUs of a host.
const ON_HOST: usize = 8;
/// Samples of a case.
const SAMPLES: usize = 100;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, which] = &arguments[..] else {
        panic!("give a folder, and `four-h200` or a number of GPUs")
    };
    let folder = Path::new(folder);
    fs::create_dir_all(folder).expect("the folder can be made");
    match which.parse() {
        Ok(gpus) => many(folder, gpus),
        Err(_) => _ = four_h200s(folder),
    }
}

/// Writes a file for each of this many GPUs: a run of 120 cases. GPUs 17, 67, 117 and so on are 3 % slower.
fn many(folder: &Path, gpus: usize) {
    let mut template = template();
    let records = template["records"].as_array_mut().expect("records");
    // The recorded suite has 119 cases.
    let mut last = records[0].clone();
    last["benchmark"] = "gpubench_kernels::cuda::latency::chase_again".into();
    records.push(last);
    for gpu in 0..gpus {
        let place = GpuPlacement {
            host: format!("node{:03}", gpu / ON_HOST),
            number: gpu % ON_HOST,
            uuid: format!("GPU-{gpu:08x}-0000-0000-0000-000000000000"),
            process: gpu,
        };
        let slow = if gpu % 50 == 17 { 1.03 } else { 1.0 };
        let median = |number: usize, record: &Value| {
            // Differences of up to ± 0.3 %, without a generator of random numbers.
            let noise = ((gpu * 7919 + number * 104_729) % 1009) as f64 / 1009.0 - 0.5;
            let own = ((gpu * 31) % 97) as f64 / 97.0 - 0.5;
            let median = record["measurement"]["time"]["median"].as_f64().expect("a median");
            Some(median * slow * (1.0 + 0.006 * noise + 0.002 * own))
        };
        write(&folder.join(format!("gpu{gpu:04}.json")), &run_at(&template, &place, SAMPLES, median));
    }
}
