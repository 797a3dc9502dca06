//! The table of forwarders against the declarations of cust_raw, which it must cover: a function missing in it
//! would be undefined when a user's program is linked.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

#[test]
fn every_declared_function_has_a_forwarder() {
    let declarations = cust_raw_source();
    let declared: BTreeSet<&str> = names(&declarations, "pub fn ").collect();
    let forwarded: BTreeSet<&str> =
        names(include_str!("../src/table.rs"), "").filter(|name| name.starts_with("cu")).collect();
    assert!(declared.len() > 300, "cust_raw declares {} functions: is this its source?", declared.len());
    let missing: Vec<_> = declared.difference(&forwarded).collect();
    assert!(missing.is_empty(), "add to src/table.rs: {missing:?}");
}

/// The names of the lines that begin with four spaces, `prefix`, a name and a parenthesis.
fn names<'a>(source: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    source.lines().filter_map(move |line| {
        let name = line.strip_prefix("    ")?.strip_prefix(prefix)?.split_once('(')?.0;
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
    })
}

/// The source of the cust_raw that this crate is built with, where cargo keeps it.
fn cust_raw_source() -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--manifest-path", env!("CARGO_MANIFEST_PATH")])
        // Packages of other platforms may not have been downloaded.
        .args(["--filter-platform", env!("GPUBENCH_DRIVER_TARGET")])
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = String::from_utf8(output.stdout).expect("JSON is UTF-8");
    let root = metadata
        .split('"')
        .find(|value| {
            let folder = Path::new(value).parent().and_then(Path::parent).and_then(Path::file_name);
            value.ends_with("/src/lib.rs")
                && folder.is_some_and(|folder| folder.to_string_lossy().starts_with("cust_raw"))
        })
        .expect("cust_raw is a dependency");
    fs::read_to_string(Path::new(root).with_file_name("cuda.rs")).expect("its declarations are in cuda.rs")
}
