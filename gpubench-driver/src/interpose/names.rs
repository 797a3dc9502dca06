//! The driver's names, taken. In: the path of its library; out: objects of these names in the loader, whose symbols are the
//! forwarders.

#![expect(unsafe_code, reason = "loads a shared object and writes its table of symbols")]

use std::env;
use std::os::unix::ffi::OsStringExt;

use super::NotInterposed;
use super::elf::{MACHINE, Symbol, TABLE, shared_object};
use super::load::{self, Loaded};
use crate::driver::VARIABLE;
use crate::library::{self, Function};
use crate::table::forwarders;

/// The name by which libraries open the driver, which is the driver's own.
const NAME: &str = "libcuda.so.1";
/// Another name by which they do, first of all cudarc.
const LINK: &str = "libcuda.so";

/// Loads the objects, unless something has the names already.
pub(super) fn take_names() -> Result<(), NotInterposed> {
    let machine = MACHINE.filter(|_| cfg!(all(target_env = "gnu", target_pointer_width = "64")));
    let machine = machine.ok_or(NotInterposed::OtherLoader)?;
    let driver = driver_path().ok_or(NotInterposed::UnknownPath)?;
    if let Some(name) = [NAME, LINK].into_iter().find(|name| load::is_loaded(name)) {
        return Err(NotInterposed::AlreadyLoaded(name));
    }
    let names: Vec<&str> = forwarders().map(|(name, _)| *name).collect();
    let named = Loaded::new(NAME, &shared_object(machine, NAME, &driver, &names))?;
    // The second object finds the first by its name, and all symbols in it.
    let linked = Loaded::new(LINK, &shared_object(machine, LINK, NAME.as_bytes(), &[]))?;
    // A program may ask which functions there are: only those of the driver are offered.
    set_addresses(&named, |name, forwarder| library::symbol(name).map(|_| forwarder as usize))?;
    let is_ours = |(name, forwarder): &(&str, Function)| {
        linked.symbol(name).is_none_or(|found| found as usize == *forwarder as usize)
    };
    if forwarders().all(is_ours) {
        return Ok(());
    }
    // A loader that adds an object's own address to every other. Without any, it finds the driver's functions.
    set_addresses(&named, |_, _| None)?;
    Err(NotInterposed::OtherLoader)
}

/// Sets the address of each forwarder's symbol in an object that has them all.
fn set_addresses(
    object: &Loaded,
    address: impl Fn(&str, Function) -> Option<usize>,
) -> Result<(), NotInterposed> {
    let table = object.symbol(TABLE).ok_or(NotInterposed::OtherLoader)?.cast::<Symbol>();
    for (index, (name, forwarder)) in forwarders().enumerate() {
        // SAFETY: the object has a symbol for each forwarder behind the unused first, in memory that stays and may be
        // written; the loader reads it only to look a name up, and no other code runs yet.
        unsafe { (*table.add(1 + index)).set(address(name, *forwarder)) };
    }
    Ok(())
}

/// Returns the path of the driver's library. A mere name would have the loader search, and find the object itself.
fn driver_path() -> Option<Vec<u8>> {
    env::var_os(VARIABLE).map(OsStringExt::into_vec).filter(|path| path.contains(&b'/'))
}
