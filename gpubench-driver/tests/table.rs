//! The table of forwarders, the types and the constants against the declarations of two bindings, cust_raw and cudarc: a
//! function missing in the table would be undefined when a user's program is linked, and another type undefined behaviour.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The types of a function's arguments, as they are written.
type Declared = BTreeMap<String, Vec<String>>;

#[test]
fn every_declared_function_has_a_forwarder_of_its_type() {
    let forwarded = forwarded(include_str!("../src/table.rs"));
    for (package, file, prefix, least) in
        [("cust_raw", "cuda.rs", "pub fn ", 300), ("cudarc", "driver/sys/mod.rs", "pub unsafe fn ", 500)]
    {
        let source = source(package, file);
        let declared = functions(&source, prefix);
        assert!(
            declared.len() > least,
            "{package} declares {} functions: is this its source?",
            declared.len()
        );
        let kinds = Kinds::new(&source);
        for (name, types) in declared {
            let Some(ours) = forwarded.get(&name) else {
                panic!("{name} of {package} is not in src/table.rs")
            };
            assert_eq!(ours.len(), types.len(), "the arguments of {name}");
            for (ours, theirs) in ours.iter().zip(&types) {
                let fits = ours == theirs || kinds.kind(theirs) == Some(ours);
                assert!(fits, "{name}: {ours} in src/table.rs, {theirs} in {package}");
            }
        }
    }
}

/// The types that a binding declares, as `src/table.rs` writes them where it does not write them out.
struct Kinds(BTreeMap<String, String>);

impl Kinds {
    /// Reads `pub type A = B;`, `pub use self::B as A;` and `pub struct A(pub B);`, and the names of enumerations.
    fn new(source: &str) -> Self {
        let source = source.replace("::std::os::raw::", "").replace("::core::ffi::", "");
        let mut found = BTreeMap::new();
        for statement in source.split("\npub ").skip(1) {
            if let Some((name, is)) = statement.strip_prefix("type ").and_then(|rest| rest.split_once('=')) {
                let is = is.split(';').next().expect("the first part");
                found.insert(name.trim().to_owned(), is.trim().to_owned());
            } else if let Some(rest) = statement.strip_prefix("use self::") {
                let Some((is, name)) = rest.split(';').next().and_then(|rest| rest.split_once(" as ")) else {
                    continue;
                };
                found.insert(name.to_owned(), is.to_owned());
            } else if let Some((name, is)) =
                statement.strip_prefix("struct ").and_then(|rest| rest.split_once('('))
            {
                // A number in a structure of its own, which a wider enumeration is in cudarc.
                let is = is.split(')').next().expect("the first part").trim_start_matches("pub ");
                found.insert(name.to_owned(), is.to_owned());
            } else if let Some(rest) = statement.strip_prefix("enum ") {
                let name = rest.split_whitespace().next().expect("an enumeration has a name");
                found.insert(name.to_owned(), "c_uint".to_owned());
            }
        }
        Self(found)
    }

    /// The name in `src/table.rs` of a type with this C calling convention; `None` for structures and other numbers.
    fn kind(&self, name: &str) -> Option<&'static str> {
        match name {
            _ if name.starts_with('*')
                || name.starts_with("::std::option")
                || name.starts_with("::core::option") =>
            {
                Some("Ptr")
            }
            "c_int" | "c_uint" | "u32" => Some("Int"),
            "c_ulonglong" | "usize" | "u64" => Some("Long"),
            _ => self.0.get(name).filter(|is| *is != name).and_then(|is| self.kind(is)),
        }
    }
}

/// The functions of `src/table.rs`, with the types of their arguments.
fn forwarded(table: &str) -> Declared {
    let statements = table.split("forwarders! {").skip(1).flat_map(|list| list.split(';'));
    let mut found = Declared::new();
    for statement in statements {
        // Comments and the name of the list come before the first function.
        let Some(begin) = statement.find("    cu") else { continue };
        let (names, after) = statement[begin..].split_once('(').expect("names, then arguments");
        let arguments = after.split(')').next().expect("the first part");
        let types: Vec<String> = if arguments.contains([',', ':', '*']) {
            let type_of = |argument: &str| argument.split(':').next_back().expect("a type").trim().to_owned();
            arguments.split(',').map(type_of).collect()
        } else {
            arguments.split_whitespace().map(str::to_owned).collect()
        };
        found.extend(names.split_whitespace().map(|name| (name.to_owned(), types.clone())));
    }
    found
}

#[test]
fn constants_and_codes_are_those_of_the_bindings() {
    let declared = source("cust_raw", "cuda.rs");
    let number = |name: &str| {
        let (_, after) = declared.split_once(&format!(" {name} = "))?;
        Some(after.split([',', ';']).next()?.to_owned())
    };
    let constants = include_str!("../src/types.rs").lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(" = ")?;
        Some((name.split_once(':')?.0, value.trim_end_matches(';')))
    });
    let constants: Vec<_> = constants.collect();
    assert!(constants.len() > 20, "{}", constants.len());
    for (name, value) in &constants {
        assert_eq!(number(name).as_deref(), Some(*value), "{name}");
    }
}

/// Another code, read as the enum of the binding, would be undefined behaviour.
#[test]
fn the_codes_that_pass_are_those_of_the_bindings_enum() {
    let declared = source("cust_raw", "cuda.rs");
    let codes = declared.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("    CUDA_")?.split_once(" = ")?;
        let is_code = name == "SUCCESS" || name.starts_with("ERROR_");
        is_code.then(|| value.trim_end_matches(',').parse::<u32>().ok()).flatten()
    });
    let codes: BTreeSet<u32> = codes.collect();
    let text = include_str!("../src/result.rs");
    let (_, text) = text.split_once("matches!(").expect("the list");
    let (list, _) = text.split_once(')').expect("its end");
    let (_, list) = list.split_once(',').expect("the code before it");
    let ours = list.split('|').flat_map(|range| {
        let mut ends =
            range.trim().split("..=").map(|end| end.trim().trim_end_matches(',').parse().expect("a code"));
        let first: u32 = ends.next().expect("a code");
        first..=ends.next().unwrap_or(first)
    });
    assert_eq!(ours.collect::<BTreeSet<u32>>(), codes);
}

#[test]
fn structures_have_the_sizes_of_the_bindings() {
    use gpubench_driver::sys;

    macro_rules! same {
        ($($binding:ident: $($structure:ident)*;)*) => {
            $($(assert_eq!(
                (size_of::<sys::$structure>(), align_of::<sys::$structure>()),
                (size_of::<$binding::$structure>(), align_of::<$binding::$structure>()),
                "{}", stringify!($structure)
            );)*)*
        };
    }
    use cudarc::driver::sys as cudarc;
    same! {
        cust_raw: CUipcMemHandle CUipcEventHandle CUmemLocation CUuuid CUDA_MEMCPY3D CUcontext CUdevice CUdeviceptr CUresult;
        cudarc: CUipcMemHandle CUipcEventHandle CUmemLocation CUuuid CUDA_MEMCPY3D CUlaunchConfig CUkernel CUstream CUresult;
    }
}

/// The functions that `source` declares on lines that begin with `prefix`, with the types of their arguments.
fn functions(source: &str, prefix: &str) -> Declared {
    let source = source.replace("::std::os::raw::", "").replace("::core::ffi::", "");
    let mut found = Declared::new();
    for (at, _) in source.match_indices(&format!("{prefix}cu")) {
        let declaration = &source[at + prefix.len()..];
        let Some((name, after)) = declaration.split_once('(') else { continue };
        let Some((arguments, _)) = after.split_once(')') else { continue };
        let begins = source[..at].chars().next_back().is_none_or(char::is_whitespace);
        // Functions of the driver go on with a capital: `culib` is cudarc's own.
        let of_the_driver = name[2..].starts_with(char::is_uppercase);
        if begins && of_the_driver && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            let arguments = arguments
                .split(',')
                .filter_map(|argument| Some(argument.split_once(':')?.1.trim().to_owned()));
            found.insert(name.to_owned(), arguments.collect());
        }
    }
    found
}

/// A source file of the package that this crate is tested with, where cargo keeps it.
fn source(package: &str, file: &str) -> String {
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
                && folder.is_some_and(|folder| folder.to_string_lossy().starts_with(&format!("{package}-")))
        })
        .unwrap_or_else(|| panic!("{package} is a dependency"));
    fs::read_to_string(Path::new(root).with_file_name(file)).expect("its declarations are there")
}
