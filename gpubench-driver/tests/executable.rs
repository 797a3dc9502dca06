//! A program that uses cust needs no libcuda to start: looked up in this very executable, which calls cust.

#![cfg(target_os = "linux")]

use std::{env, fs};

use gpubench_driver as _;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn, FileHeader};

#[test]
fn the_loader_is_not_asked_for_libcuda() {
    // What needs cuInit, so that there is something to link.
    let _ = cust::init(cust::CudaFlags::empty());

    let program = fs::read(env::current_exe().expect("a test knows its executable")).expect("it can be read");
    let header = FileHeader64::<Endianness>::parse(&*program).expect("an ELF executable");
    let endian = header.endian().expect("an endianness");
    let sections = header.sections(endian, &*program).expect("sections");
    let (entries, strings) = sections.dynamic(endian, &*program).expect("readable").expect("it is linked");
    let strings = sections.strings(endian, &*program, strings).expect("names");
    let needed: Vec<String> = entries
        .iter()
        .filter(|entry| entry.tag32(endian) == Some(DT_NEEDED))
        .map(|entry| String::from_utf8_lossy(entry.string(endian, strings).expect("a name")).into_owned())
        .collect();
    assert!(needed.iter().any(|name| name.starts_with("libc.")), "{needed:?}");
    assert!(!needed.iter().any(|name| name.contains("cuda")), "{needed:?}");
}
