//! The building blocks of an expansion of `#[gpu_bench]`. An expansion spells out only the rest.

mod axis;
mod count;
mod exact;
mod memory;
mod outcome;

pub use self::axis::{ByDebug, ByDisplay, ByFromStr, ByListing, ByText, Shown, Values, axis, pow2};
pub use self::count::{Count, count, count_exact};
pub use self::exact::{Exact, Leaf, NotWhole, Whole, WholeNumber, exact};
pub use self::memory::{Inline, Input, Plain, Slice, UnknownMemory, memory};
pub use self::outcome::{Checked, Launched, set_up};
