//! The axes of a benchmark: its arguments, and the cache state. In: its cases; out: each axis with its values, and the values
//! of a state. An argument whose values are all whole numbers is one that the scripts can draw along.

use serde::Serialize;

use super::NvCase;

/// The name of the axis of cache states, and the one for a benchmark with an argument of that name.
const CACHE: [&str; 2] = ["cache", "cache state"];

#[derive(Serialize)]
pub(super) struct NvAxis<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: NvKind,
    flags: &'static str,
    values: Vec<NvAxisValue>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum NvKind {
    Int64,
    String,
}

#[derive(Serialize)]
struct NvAxisValue {
    input_string: String,
    description: &'static str,
    value: NvValue,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NvValue {
    Number(i64),
    Text(String),
}

/// The value of a state on an axis.
#[derive(Serialize)]
pub(super) struct NvStateValue<'a> {
    pub(super) name: &'a str,
    #[serde(rename = "type")]
    kind: NvKind,
    pub(super) value: String,
}

/// The axes of `cases`, which are those of one benchmark; that of the cache states is the last.
pub(super) fn axes<'a>(cases: &[NvCase<'a>]) -> Vec<NvAxis<'a>> {
    let mut named: Vec<(&'a str, Vec<String>)> = Vec::new();
    for case in cases {
        for arg in case.args {
            add(&mut named, &arg.name, &arg.value);
        }
    }
    let cache = named.iter().any(|(name, _)| *name == CACHE[0]);
    for case in cases.iter().filter_map(|case| case.cache) {
        add(&mut named, CACHE[usize::from(cache)], &case.to_string());
    }
    named.into_iter().map(|(name, values)| NvAxis::of(name, values)).collect()
}

fn add<'a>(axes: &mut Vec<(&'a str, Vec<String>)>, name: &'a str, value: &str) {
    let place = axes.iter().position(|(axis, _)| *axis == name).unwrap_or_else(|| {
        axes.push((name, Vec::new()));
        axes.len() - 1
    });
    let values = &mut axes[place].1;
    if !values.iter().any(|listed| listed == value) {
        values.push(value.to_owned());
    }
}

impl<'a> NvAxis<'a> {
    fn of(name: &'a str, values: Vec<String>) -> Self {
        let numbers: Option<Vec<i64>> = values.iter().map(|value| number(value)).collect();
        let kind = if numbers.is_some() { NvKind::Int64 } else { NvKind::String };
        let value = |text: String| NvAxisValue {
            value: number(&text)
                .filter(|_| kind == NvKind::Int64)
                .map_or_else(|| NvValue::Text(text.clone()), NvValue::Number),
            input_string: text,
            description: "",
        };
        Self { name, kind, flags: "", values: values.into_iter().map(value).collect() }
    }
}

/// A whole number that reads as it is written.
fn number(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

/// The values of a state on those `axes` that it has.
pub(super) fn axis_values<'a>(case: &NvCase<'a>, axes: &[NvAxis<'a>]) -> Vec<NvStateValue<'a>> {
    let args = case.args.iter().map(|arg| (&*arg.name, arg.value.clone()));
    let last = axes.last().map_or(CACHE[0], |axis| axis.name);
    let all = args.chain(case.cache.map(|cache| (last, cache.to_string())));
    let kind =
        |name: &str| axes.iter().find(|axis| axis.name == name).map_or(NvKind::String, |axis| axis.kind);
    all.map(|(name, value)| NvStateValue { name, kind: kind(name), value }).collect()
}
