//! `init` as a user begins: in a new package, in one with comments, and where something is in the way.

use std::fs;
use std::path::Path;

use super::TestProject;

/// The manifest as somebody wrote it, with what is easily lost.
const MANIFEST: &str = "\
# My kernels.
[package]
name = \"my-kernels\"   # the best
version = \"0.1.0\"
edition = \"2024\"

[features]
fast = []

[dependencies]
# Do not update.
serde = { version = \"=1.0.0\", features = [\"derive\"] }

[[bench]]
name = \"old\"
harness = false
";

impl TestProject {
    /// A package with a library.
    fn package(&self, manifest: &str) {
        self.file("src/Cargo.toml", manifest);
        self.file("src/src/lib.rs", "");
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }

    /// The text of a file, with `CHECKOUT` for a relative path that leads to this workspace.
    fn read(&self, name: &str) -> String {
        let file = self.path(name);
        let text = fs::read_to_string(&file).expect("it is there");
        let path = text.split("path = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let leads_there =
            file.with_file_name(path).canonicalize().is_ok_and(|to| to == Path::new(&checkout()));
        if path.starts_with("../") && leads_there { text.replace(path, "CHECKOUT") } else { text }
    }
}

/// The folder of this workspace, which `init` makes packages depend on.
fn checkout() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("it is there");
    folder.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_new_package_gets_a_benchmark() {
    let project = TestProject::new();
    project.package(
        "[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n",
    );
    let ended = project.run(&["init"]).code(0);
    assert_eq!(ended.stderr(), "");
    insta::assert_snapshot!("init", ended.stdout());
    insta::assert_snapshot!("init-manifest", project.read("src/Cargo.toml"));
    let benchmark = project.read("src/benches/kernels.rs");
    assert!(benchmark.contains("\ngpubench::main!(my_kernels);\n"), "{benchmark}");
    assert!(benchmark.contains("`cargo bench --bench kernels`"), "{benchmark}");
    // A second one is refused, and nothing of it remains.
    let (manifest, benchmark) = (project.read("src/Cargo.toml"), project.read("src/benches/kernels.rs"));
    let ended = project.run(&["init"]).code(2);
    assert_eq!(ended.stdout(), "");
    let says = "error: Cargo.toml already has a bench target `kernels`: give another name by --bench\n";
    assert_eq!(ended.stderr(), says);
    assert_eq!(project.read("src/Cargo.toml"), manifest);
    assert_eq!(project.read("src/benches/kernels.rs"), benchmark);
    // Another name is another target; the dependency is there.
    let ended = project.run(&["init", "--bench", "more"]).code(0);
    assert!(!ended.stdout().contains("[dev-dependencies],"), "{}", ended.stdout());
    assert_eq!(project.read("src/Cargo.toml").matches("gpubench = ").count(), 1);
}

#[test]
fn comments_and_order_stay() {
    let project = TestProject::new();
    project.package(MANIFEST);
    _ = project.run(&["init", "--bench", "gpu", "--binding", "cudarc"]).code(0);
    let changed = project.read("src/Cargo.toml");
    assert!(changed.starts_with(MANIFEST), "{changed}");
    insta::assert_snapshot!("init-commented", changed);
}

/// By a checkout, from another folder, and a package without a library.
#[test]
fn a_checkout_may_be_depended_on() {
    let project = TestProject::new();
    project.file("app/Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\n");
    _ = project.run(&["init", "../app", "--path", &checkout(), "--binding", "cust"]).code(0);
    let manifest = project.read("app/Cargo.toml");
    assert!(
        manifest.contains("gpubench = { path = \"CHECKOUT\", features = [\"cust\", \"runtime\"] }"),
        "{manifest}"
    );
    assert!(!manifest.contains("[lib]"), "{manifest}");
    assert!(project.read("app/benches/kernels.rs").contains("\ngpubench::main!();\n"));
}

/// The path of a clone next to the package is as a person writes it.
#[test]
fn a_clone_next_to_the_package_has_a_short_path() {
    let project = TestProject::new();
    project.package("[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\n");
    project.file("gpubench/Cargo.toml", "[package]\nname = \"gpubench\"\nversion = \"0.1.0\"\n");
    _ = project.run(&["init", "--path", "../gpubench"]).code(0);
    let manifest = project.read("src/Cargo.toml");
    assert!(manifest.contains("gpubench = { path = \"../gpubench\", features"), "{manifest}");
}

/// A kernel, its PTX, and the binding in the version that gpubench is tested with.
#[test]
fn a_binding_gets_a_kernel() {
    let tested_with = fs::read_to_string(Path::new(&checkout()).join("Cargo.toml")).expect("it is there");
    for (binding, dependency) in [
        ("cudarc", "cudarc = { version = \"0.19.10\", features = [\"cuda-12080\"] }"),
        ("cust", "cust = { version = \"0.3.2\" }"),
    ] {
        let project = TestProject::new();
        project.package("[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        _ = project.run(&["init", "--binding", binding]).code(0);
        let manifest = project.read("src/Cargo.toml");
        assert!(manifest.contains(dependency), "{manifest}");
        let version = dependency.split('"').nth(1).expect("a version");
        let own =
            tested_with.lines().find(|line| line.starts_with(&format!("{binding} = "))).expect("a line");
        assert!(own.contains(version), "{own}");
        assert!(project.read("src/benches/kernels.rs").contains(&format!("use {binding}::")));
        assert!(project.read("src/benches/saxpy.ptx").contains(".entry saxpy"));
        assert!(project.read("src/benches/saxpy.cu").contains("__global__ void saxpy"));
    }
}

/// A package that has a benchmark of the CPU gets one of a GPU: its gpubench gets the feature.
#[test]
fn a_second_benchmark_adds_the_feature_of_its_binding() {
    let project = TestProject::new();
    project.package("[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    _ = project.run(&["init"]).code(0);
    let ended = project.run(&["init", "--binding", "cudarc", "--bench", "gpu"]).code(0);
    assert!(ended.stdout().contains("gpubench with the features cudarc"), "{}", ended.stdout());
    let manifest = project.read("src/Cargo.toml");
    assert!(manifest.contains("features = [\"runtime\", \"cudarc\"]"), "{manifest}");
}

/// Cargo reads profiles at the root of a workspace alone.
#[test]
fn a_member_of_a_workspace_gets_no_profile() {
    let project = TestProject::new();
    project.file("Cargo.toml", "[workspace]\nmembers = [\"src\"]\n");
    project.package("[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\n");
    _ = project.run(&["init"]).code(0);
    assert!(!project.read("src/Cargo.toml").contains("[profile"));
}

/// A bench target of the same package can link only a library of kind `lib` or `rlib`.
#[test]
fn a_library_that_rust_cannot_link_is_not_named() {
    for (library, main) in [
        ("proc-macro = true", "main!();"),
        ("crate-type = [\"cdylib\"]", "main!();"),
        ("crate-type = [\"cdylib\", \"rlib\"]", "main!(my_kernels);"),
        ("proc-macro = false", "main!(my_kernels);"),
    ] {
        let project = TestProject::new();
        project
            .package(&format!("[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\n\n[lib]\n{library}\n"));
        _ = project.run(&["init"]).code(0);
        let benchmark = project.read("src/benches/kernels.rs");
        assert!(benchmark.contains(&format!("\ngpubench::{main}\n")), "{library}: {benchmark}");
    }
}

#[test]
fn what_is_in_the_way_is_told_and_nothing_changes() {
    let project = TestProject::new();
    let mut told = project.run(&["init"]).code(2).stderr();
    project.file("src/Cargo.toml", "[workspace]\nmembers = []\n");
    told += &project.run(&["init"]).code(2).stderr();
    project.file("src/Cargo.toml", "[package\n");
    told += &project.run(&["init"]).code(2).stderr();
    project.package("bench = 1\n[package]\nname = \"a\"\n");
    told += &project.run(&["init"]).code(2).stderr();
    assert!(!project.path("src/benches").exists());
    project.package("[package]\nname = \"a\"\n");
    told += &project.run(&["init", "--bench", "../a"]).code(2).stderr();
    told += &project.run(&["init", "--path", "nowhere"]).code(2).stderr();
    assert!(!project.path("src/benches").exists());
    // A file that cargo finds by itself.
    project.file("src/benches/kernels.rs", "fn main() {}");
    told += &project.run(&["init"]).code(2).stderr();
    assert_eq!(project.read("src/benches/kernels.rs"), "fn main() {}");
    assert_eq!(project.read("src/Cargo.toml"), "[package]\nname = \"a\"\n");
    insta::assert_snapshot!("init-refused", told);
}

#[test]
fn a_manifest_keeps_its_ends_of_lines() {
    let project = TestProject::new();
    let manifest = "[package]\nname = \"my-kernels\"\nversion = \"0.1.0\"\n# Last.\n".replace('\n', "\r\n");
    project.package(&manifest);
    _ = project.run(&["init"]).code(0);
    let changed = project.read("src/Cargo.toml");
    assert!(changed.starts_with("[package]\r\nname"), "{changed:?}");
    assert!(
        changed.contains("[[bench]]\r\n") && changed.replace("\r\n", "").find('\n').is_none(),
        "{changed:?}"
    );
}
