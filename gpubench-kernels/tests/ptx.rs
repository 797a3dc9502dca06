//! The committed PTX against the launch functions.

use std::collections::BTreeMap;

use gpubench_kernels::cuda::mix::{READS, WRITES};

/// A module's text.
macro_rules! ptx {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/", $name, ".ptx"))
    };
}

mod interpreter;
mod references;

const INPUTS: &str = ptx!("inputs");
const MIX: &str = ptx!("mix");
/// Those whose instructions need a later GPU: tensor cores take bf16 from compute capability 8.0.
const TENSOR: [&str; 2] = [ptx!("tensor"), ptx!("matmul_tensor")];

/// Modules, beside the Rust that launches their kernels by their names.
const LAUNCHED: [(&[&str], &str); 7] = [
    (&[ptx!("elementwise"), ptx!("reduction")], include_str!("../src/cuda/mod.rs")),
    (&[ptx!("transpose"), ptx!("stencil")], include_str!("../src/cuda/plane.rs")),
    (&[ptx!("latency")], include_str!("../src/cuda/latency.rs")),
    (&[ptx!("power"), TENSOR[0]], include_str!("../src/cuda/power.rs")),
    (&[ptx!("sources")], include_str!("../src/cuda/sources.rs")),
    (&[ptx!("matmul"), TENSOR[1]], include_str!("../src/cuda/matmul.rs")),
    (&[ptx!("nbody")], include_str!("../src/cuda/nbody.rs")),
];

/// The entries of a module, each with the types of its parameters.
fn entries(ptx: &str) -> BTreeMap<&str, String> {
    let entries = ptx.split(".visible .entry ").skip(1).map(|entry| {
        let (name, rest) = entry.split_once('(').expect("an entry has parameters");
        let (params, _) = rest.split_once(')').expect("they end");
        let types =
            params.split(".param .").skip(1).map(|param| param.split_whitespace().next().unwrap_or(""));
        (name, types.collect::<Vec<_>>().join(" "))
    });
    entries.collect()
}

/// The kernels that `launch_kernel!(kernels.name(…), …)` names in Rust, each with the types of its arguments, which
/// follow from how they are written.
fn launches(rust: &str) -> BTreeMap<&str, String> {
    let launches = rust.split("launch_kernel!(").skip(1).map(|launch| {
        let (_, launch) = launch.split_once('.').expect("a launch names the owner of the kernel");
        let (name, rest) = launch.split_once('(').expect("and has arguments");
        let arguments = rest.split(',').map_while(|argument| {
            let argument = argument.trim_start();
            match argument {
                _ if argument.split([')', '\n']).next() == Some("a") => Some("f32"),
                _ if argument.contains(".as_device_ptr()") || argument.starts_with("n as u64") => Some("u64"),
                "steps" => Some("u64"),
                _ => None,
            }
        });
        (name, arguments.collect::<Vec<_>>().join(" "))
    });
    launches.collect()
}

#[test]
fn versions_and_targets_are_old() {
    for ptx in LAUNCHED.iter().flat_map(|(modules, _)| *modules).chain(&[INPUTS, MIX]) {
        let lines: Vec<&str> = ptx.lines().filter(|line| !line.starts_with("//")).take(3).collect();
        let target = if TENSOR.contains(ptx) { ".target sm_80" } else { ".target sm_70" };
        assert_eq!(lines, [".version 7.7", target, ".address_size 64"]);
    }
}

#[test]
fn entries_are_what_is_launched() {
    let mut counts = Vec::new();
    for (modules, rust) in LAUNCHED {
        let all: BTreeMap<_, _> = modules.iter().flat_map(|module| entries(module)).collect();
        assert_eq!(all, launches(rust));
        counts.push(all.len());
    }
    assert_eq!(counts, [9, 3, 1, 2, 3, 6, 1]);
    let inputs = [
        ("cycle", "u64 u64"),
        ("random_bf16", "u64 u64 u64"),
        ("random_f32", "u64 u64 u64"),
        ("random_f64", "u64 u64 u64"),
        ("random_u32", "u64 u64 u64"),
    ];
    assert_eq!(entries(INPUTS), inputs.map(|(name, types)| (name, types.to_owned())).into());
}

/// There is a kernel for each balance.
#[test]
fn balances_are_those_that_are_listed() {
    let listed = READS.into_iter().zip(WRITES).map(|(reads, writes)| format!("mix_{reads}_{writes}"));
    let listed: BTreeMap<String, String> = listed.map(|name| (name, "u64 u64 u64".to_owned())).collect();
    let found = entries(MIX).into_iter().map(|(name, types)| (name.to_owned(), types));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), listed);
}
