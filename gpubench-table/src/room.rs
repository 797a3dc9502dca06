//! The layout of a cell: a fixed number of terminal columns, with the decimal points of numbers under each other.

use crate::text::{left, right, shortened, width};

/// The room of a cell, in terminal columns. It is the same in all rows, so that a row can be printed before the next is
/// measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    /// Words.
    Words(usize),
    /// A number, with room for so much before its decimal point, from the point on, and for its unit.
    Number(usize, usize, usize),
}

impl Room {
    /// The number of terminal columns.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Words(width) => width,
            Self::Number(whole, fraction, unit) => whole + fraction + unit,
        }
    }

    /// Returns true for numbers.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Number(..))
    }

    /// The head above the cells: above the end of numbers with a short unit, above the beginning of all else.
    pub(super) fn head(self, head: &str) -> String {
        match self {
            Self::Number(_, _, ..=SHORT_UNIT) => right(head, self.width()),
            _ => left(head, self.width()),
        }
    }

    /// `cell` in this room: numbers with their decimal points under each other, in so far as they leave room for that. What
    /// is too long is shortened; no number is, whose digits have room.
    pub(super) fn fit(self, cell: &str) -> String {
        let cell = &*shortened(cell, self.width());
        let Self::Number(whole, fraction, unit) = self else { return left(cell, self.width()) };
        let Some(point) = point(cell) else { return left(&right(cell, whole + fraction), self.width()) };
        let (before, behind) = cell.split_at(point);
        let digits = behind.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(behind.len());
        let (behind, after) = behind.split_at(digits);
        // A long number takes the room of digits that it does not have.
        let before = right(before, whole);
        let spare = (whole + fraction + unit).saturating_sub(width(&before) + width(after));
        left(&format!("{before}{}{after}", left(behind, fraction.min(spare))), self.width())
    }
}

/// Units of more columns have their head above the beginning of the cell.
const SHORT_UNIT: usize = 4;

/// The place behind the digits before the decimal point, seen or not.
fn point(cell: &str) -> Option<usize> {
    let first = cell.find(|c: char| c.is_ascii_digit())?;
    let digits = cell[first..].find(|c: char| !c.is_ascii_digit());
    Some(digits.map_or(cell.len(), |digits| first + digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_points_stand_under_each_other() {
        let shown = ["12.54 µs", "601.1 ns", "1000 µs", "4.473 ms", "-3.000 ns", "failed"]
            .map(|it| Room::Number(3, 4, 3).fit(it));
        assert_eq!(
            shown,
            [" 12.54  µs", "601.1   ns", "1000    µs", "  4.473 ms", " -3.000 ns", " failed   "]
        );
        let shares = ["93.1 % DRAM", "0.64 % bf16 tensor", "102 % L2"];
        let shown = shares.map(|it| Room::Number(3, 3, 14).fit(it));
        assert_eq!(shown, [" 93.1  % DRAM       ", "  0.64 % bf16 tensor", "102    % L2         "]);
        let room = Room::Number(4, 3, 2);
        assert_eq!(
            ["± 0.42 %", "± 99.99 %", "± 150 %", "± >999 %", "± ?"].map(|it| room.fit(it)),
            [" ± 0.42 %", "± 99.99 %", "± 150   %", "± >999  %", "    ± ?  "]
        );
    }
}
