//! Ranges for tools that look on: where one listens it hears the name of each case, and the groups of its samples within.

use protocol::fake::{library, measure};

const LAUNCHES: &str = env!("CARGO_BIN_EXE_launches");

#[test]
fn a_tool_hears_the_cases_and_their_groups() {
    let library = library().to_str().expect("UTF-8");
    let arguments = ["::kernels", "--arg", "KERNELS=1,2", "--samples", "40"];
    let measured = measure(LAUNCHES, &arguments, &[("LOG", ""), ("NVTX_INJECTION64_PATH", library)]);
    let ranges = measured.log.iter().filter(|line| line.what == "range");
    let words: Vec<String> = ranges.map(|line| line.words.join(" ")).collect();
    let mut open = Vec::new();
    let (mut cases, mut groups) = (Vec::new(), 0);
    for word in &words {
        match word.strip_prefix("begins ") {
            Some("group") => {
                groups += 1;
                assert_eq!(open.len(), 1, "{words:?}");
                open.push("group");
            }
            Some(case) => {
                assert!(open.is_empty(), "{words:?}");
                cases.push(case.to_owned());
                open.push(case);
            }
            None => drop(open.pop().expect("a range that is open")),
        }
    }
    assert!(open.is_empty(), "{words:?}");
    assert_eq!(cases, ["launches::kernels[KERNELS=1]_hot", "launches::kernels[KERNELS=2]_hot"]);
    let samples: usize =
        measured.run.records.iter().map(|it| it.measurement.as_ref().map_or(0, |it| it.samples.groups)).sum();
    assert!(samples > 0 && groups >= samples, "{groups} of {samples}");
}

#[test]
fn a_tool_that_cannot_be_opened_changes_nothing() {
    let arguments = ["::kernels", "--arg", "KERNELS=1"];
    let measured =
        measure(LAUNCHES, &arguments, &[("LOG", ""), ("NVTX_INJECTION64_PATH", "/nowhere/tool.so")]);
    assert!(measured.log.iter().all(|line| line.what != "range"));
    assert_eq!(measured.ended.code, Some(0), "{}", measured.ended);
}
