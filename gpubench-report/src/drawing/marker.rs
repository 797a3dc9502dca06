//! The markers of points, one for each series, so that series differ even without colours. Every second is larger and not
//! filled, so that points of two series at one place are both seen. In: a place; out: the data of an SVG path.

use super::pixels::pixels;

/// A shape of about eight pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Down,
    Plus,
}

/// The marker of series `index`; markers repeat after the last.
pub(super) fn of(index: usize) -> Marker {
    use Marker::{Circle, Diamond, Down, Plus, Square, Triangle};
    [Circle, Square, Triangle, Diamond, Down, Plus][index % 6]
}

impl Marker {
    /// Returns true for an outline around which other markers fit.
    pub(super) fn is_hollow(self) -> bool {
        matches!(self, Self::Square | Self::Diamond | Self::Plus)
    }

    /// Its outline around a place.
    pub(super) fn shape(self, (x, y): (f64, f64)) -> String {
        let [x, y] = [x, y].map(pixels);
        let from = |steps: &str| format!("M{x} {y}{steps}");
        match self {
            Self::Circle => from("m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z"),
            Self::Square => from("m-4.4-4.4h8.8v8.8h-8.8z"),
            Self::Triangle => from("m0-4l3.8 6.8h-7.6z"),
            Self::Diamond => from("m0-6l6 6l-6 6l-6-6z"),
            Self::Down => from("m0 4l3.8-6.8h-7.6z"),
            Self::Plus => from("m-3.6 0h7.2m-3.6-3.6v7.2"),
        }
    }
}
