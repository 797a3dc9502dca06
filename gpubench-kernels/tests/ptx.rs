//! Whether the committed PTX is what the launch functions ask for. In: the text of both; out: nothing, or the entry that
//! is missing, takes another number of parameters, or is of a target or version that older drivers do not load.

use std::collections::BTreeMap;

const ELEMENTWISE: &str = include_str!("../ptx/elementwise.ptx");
const REDUCTION: &str = include_str!("../ptx/reduction.ptx");
const INPUTS: &str = include_str!("../ptx/inputs.ptx");
const POWER: &str = include_str!("../ptx/power.ptx");
const TENSOR: &str = include_str!("../ptx/tensor.ptx");

/// The Rust that launches the first two. The kernels of the third are not launched by their names.
const RUST: &str = include_str!("../src/cuda/mod.rs");
/// That which launches the last two.
const RUST_OF_POWER: &str = include_str!("../src/cuda/power.rs");

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

/// The kernels that `launch!(module.name<<<…>>>(…))` names in Rust, each with the types of its arguments, which follow from
/// how they are written.
fn launches(rust: &str) -> BTreeMap<&str, String> {
    let launches = rust.split("launch!(module.").skip(1).map(|launch| {
        let (name, rest) = launch.split_once("<<<").expect("a launch has a grid");
        let (_, rest) = rest.split_once(">>>(").expect("and arguments");
        let arguments = rest.split(',').map_while(|argument| {
            let argument = argument.trim_start();
            match argument {
                _ if argument.starts_with("a)") || argument == "a" => Some("f32"),
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
    for ptx in [ELEMENTWISE, REDUCTION, INPUTS, POWER, TENSOR] {
        let lines: Vec<&str> = ptx.lines().filter(|line| !line.starts_with("//")).take(3).collect();
        // Tensor cores take bf16 from there on.
        let target = if ptx == TENSOR { ".target sm_80" } else { ".target sm_70" };
        assert_eq!(lines, [".version 7.7", target, ".address_size 64"]);
    }
}

#[test]
fn entries_are_what_is_launched() {
    let mut both = entries(ELEMENTWISE);
    both.append(&mut entries(REDUCTION));
    assert_eq!(both, launches(RUST));
    assert_eq!(both.len(), 7);
    let mut power = entries(POWER);
    power.append(&mut entries(TENSOR));
    assert_eq!((power.len(), power), (2, launches(RUST_OF_POWER)));
    let inputs = [("random_f32", "u64 u64 u64"), ("random_f64", "u64 u64 u64")];
    assert_eq!(entries(INPUTS), inputs.map(|(name, types)| (name, types.to_owned())).into());
}
