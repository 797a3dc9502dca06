//! Private tables of functions, which `cuGetExportTable` returns. In: the number of a table. Out: a note that memory may be
//! made which this crate does not list, unless the CUDA runtime or cuBLAS gets the table.

#![expect(unsafe_code, reason = "reads the number where the driver has read it")]

use crate::memory::made_unlisted;
use crate::sys::CUuuid;

/// The tables that the CUDA runtime and cuBLAS get, whatever a program does with them. The memory of a program that uses
/// these is allocated by functions that have forwarders: seen on driver 580.159.04 with the libraries of CUDA 13.0.
const OF_THE_RUNTIME: [[u8; 16]; 10] = [
    number("6bd5fb6c5bf4e74a8987d93912fd9df9"),
    number("f8cff95121468b4eb9e2fb469e7c0dd9"),
    number("a094798c2e742e7493f20800200c0a66"),
    number("42d85a8123f6cb478298f6e78a3aecdc"),
    number("c693336e1121df11a8c368f355d89593"),
    number("263e88607cd2614392f6bbd5006dfa7e"),
    number("d4082055bde6704b8d34ba123c66e1f2"),
    number("69a28e9f24498b47b030c5da330ea4e9"),
    number("21318c60971432488ca641ff7324c8f2"),
    number("1734dc26800d47458726c0f1e7dd8bca"),
];

/// Reads a number of 16 bytes.
const fn number(digits: &str) -> [u8; 16] {
    match u128::from_str_radix(digits, 16) {
        Ok(number) => number.to_be_bytes(),
        Err(_) => panic!("32 hexadecimal digits"),
    }
}

/// # Safety
/// `cuGetExportTable` has returned `code` for the table of this number.
pub(crate) unsafe fn table_found(code: u32, table: *const CUuuid) {
    if code != 0 || table.is_null() {
        return;
    }
    // SAFETY: the driver has just read it under the same contract.
    let table: [u8; 16] = unsafe { table.cast::<[u8; 16]>().read() };
    if !OF_THE_RUNTIME.contains(&table) {
        // SAFETY: this is safe.
        unsafe { made_unlisted(code) };
    }
}
