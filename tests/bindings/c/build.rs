//! Compiles the launches that are written in C.

fn main() {
    println!("cargo:rerun-if-changed=src/saxpy.c");
    cc::Build::new().file("src/saxpy.c").warnings_into_errors(true).compile("saxpy");
}
