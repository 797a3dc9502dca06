//! Makes `-lcuda`, which cust_raw asks for, resolve on a machine without CUDA.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    // A folder of its own: nothing else that a build leaves in OUT_DIR becomes a library by accident.
    let folder = Path::new(&out).join("empty-libcuda");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("libcuda.a"), "!<arch>\n")?;
    println!("cargo:rustc-link-search=native={}", folder.display());
    // For a test, which asks cargo where it keeps cust_raw's source.
    println!("cargo:rustc-env=GPUBENCH_DRIVER_TARGET={}", env::var("TARGET").unwrap_or_default());
    Ok(())
}
