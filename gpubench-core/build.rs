//! Cargo lets a package name the library it `links` only if it has a build script.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
