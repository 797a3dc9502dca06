//! The macro that makes the exported functions. They write results through [`Out`]s, so that only this file
//! writes through the caller's pointers.

#![expect(unsafe_code, reason = "reads and writes through the pointers of C's callers")]

use std::ffi::{CStr, c_char};

use crate::code::{Code, INVALID_VALUE};
use crate::driver::Answer;

/// A place for a result.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// The place at an address that the caller gives as a number.
    pub(crate) fn there(address: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address))
    }

    /// Tells whether the caller wants no result.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The result; a caller that gives no place for it has made a mistake.
    pub(crate) fn set(&self, value: T) -> Answer {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the function's contract: a pointer that is not null is a place for a `T`.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// The result, where the caller wants one.
    pub(crate) fn offer(&self, value: T) {
        // That there is no place for it is the caller's choice.
        _ = self.set(value);
    }

    /// The value that the caller has put there.
    pub(crate) fn get(&self) -> Result<T, Code>
    where
        T: Copy,
    {
        if self.0.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: as in `set`, and the caller has filled it.
        Ok(unsafe { self.0.read() })
    }

    /// Element `index` of an array.
    pub(crate) fn at(&self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }
}

impl Out<c_char> {
    /// Text with a zero behind it, cut to the `length` bytes that there are.
    pub(crate) fn text(&self, text: &str, length: usize) -> Answer {
        let cut = &text.as_bytes()[..text.len().min(length.saturating_sub(1))];
        for (index, byte) in cut.iter().chain(&[0]).enumerate().take(length) {
            self.at(index).set(*byte as c_char)?;
        }
        Ok(())
    }
}

/// Text that the caller gives.
pub(crate) fn text<'a>(pointer: *const c_char) -> Result<&'a str, Code> {
    if pointer.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the function's contract: text ends in a zero, and outlives the call.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| INVALID_VALUE)
}

/// Exports functions. The first parameter is the driver and not C's.
macro_rules! exports {
    ($(fn $name:ident($driver:ident $(, $argument:ident: $type:ty)* $(,)?) $body:block)*) => {
        $(
            // SAFETY: no other object of a program under test defines this name but its forwarder, which looks it up here.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $crate::code::Code {
                $crate::driver::made(stringify!($name), |$driver: &mut $crate::driver::Driver| {
                    _ = &$driver;
                    $body
                })
            }
        )*
    };
}
pub(crate) use exports;
