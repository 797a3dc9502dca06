//! The table of forwarders, the types and the constants against the declarations of two bindings, cust_raw and cudarc: a
//! function missing in the table would be undefined when a user's program is linked, and another type undefined behaviour.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The types of a function's arguments, as they are written.
type Declared = BTreeMap<String, Vec<String>>;

#[test]
fn every_declared_function_has_a_forwarder_of_its_type() {
    let mut forwarded = functions(include_str!("../src/table/cuda_11.rs"), "    ");
    forwarded.extend(functions(include_str!("../src/table/newer.rs"), "    "));
    for (package, file, prefix, least) in
        [("cust_raw", "cuda.rs", "pub fn ", 300), ("cudarc", "driver/sys/mod.rs", "pub unsafe fn ", 500)]
    {
        let declared = functions(&source(package, file), prefix);
        assert!(
            declared.len() > least,
            "{package} declares {} functions: is this its source?",
            declared.len()
        );
        for (name, types) in declared {
            assert_eq!(forwarded.get(&name), Some(&types), "{name} of {package} (add it to src/table)");
        }
    }
}

#[test]
fn constants_and_codes_are_those_of_the_bindings() {
    let declared = source("cust_raw", "cuda.rs");
    let number = |name: &str| {
        let (_, after) = declared.split_once(&format!(" {name} = "))?;
        Some(after.split([',', ';']).next()?.to_owned())
    };
    let constants = include_str!("../src/sys/constants.rs").lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(" = ")?;
        Some((name.split_once(':')?.0, value.trim_end_matches(';')))
    });
    let codes = include_str!("../src/text.rs").lines().filter_map(|line| {
        let mut words = line.strip_prefix("    ")?.split(' ');
        Some((words.next()?, words.next()?))
            .filter(|(_, name)| name.starts_with("CUDA_"))
            .map(|(number, name)| (name, number))
    });
    let (constants, codes): (Vec<_>, Vec<_>) = (constants.collect(), codes.collect());
    assert!(constants.len() > 20 && codes.len() > 80, "{} and {}", constants.len(), codes.len());
    for (name, value) in constants.iter().chain(&codes) {
        assert_eq!(number(name).as_deref(), Some(*value), "{name}");
    }
    let all = declared.match_indices("    CUDA_ERROR_").count();
    assert_eq!(codes.len(), all + 1, "with CUDA_SUCCESS, these are all codes of cust_raw's enum");
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
