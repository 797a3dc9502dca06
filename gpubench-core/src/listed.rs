//! The device whose cases are being listed: `skip_if` and lists of arguments are evaluated before any device is open.

use std::cell::Cell;

thread_local! {
    static ORDINAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the number, among devices of its kind, of the device whose cases are being listed: for expressions of `skip_if` and
/// `args` that depend on it, such as a copy to another GPU. `None` elsewhere.
#[must_use]
pub fn listed_ordinal() -> Option<usize> {
    ORDINAL.get()
}

/// Does `list` while the device with this number is the one whose cases are listed.
#[doc(hidden)]
pub fn while_listed<T>(ordinal: usize, list: impl FnOnce() -> T) -> T {
    let before = ORDINAL.replace(Some(ordinal));
    let listed = list();
    ORDINAL.set(before);
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_while_its_cases_are_listed() {
        assert_eq!(listed_ordinal(), None);
        assert_eq!(while_listed(3, listed_ordinal), Some(3));
        assert_eq!(listed_ordinal(), None);
    }
}
