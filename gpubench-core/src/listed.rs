//! The number of the device whose cases are being listed. `skip_if` and `args` are evaluated before any
//! device is open.

use std::cell::Cell;

thread_local! {
    /// The number of the device whose cases this thread lists.
    static ORDINAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Returns the number, among devices of its kind, of the device whose cases are being listed. Expressions in
/// `skip_if` and `args` use it if they depend on the device, such as for a copy to another GPU. `None` while
/// no cases are listed.
#[must_use]
pub fn listed_ordinal() -> Option<usize> {
    ORDINAL.get()
}

/// Runs `list`, within which [`listed_ordinal`] returns `ordinal`. Returns the result of `list`.
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
