//! `Display` of quantities, as [`format`](crate::format) writes each.

use std::fmt::{self, Display};

use crate::format::{bandwidth, bytes, clock, energy, items, power, throughput, time};
use crate::units::{
    Bytes, BytesPerSecond, FlopsPerSecond, Hertz, ItemsPerSecond, Joules, Nanoseconds, Watts,
};

/// Writes quantities as the function beside each does.
macro_rules! displays {
    ($($name:ident by $show:expr;)+) => {$(
        impl Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let show: fn($name) -> String = $show;
                f.pad(&show(*self))
            }
        }
    )+};
}

displays! {
    Nanoseconds by time;
    Bytes by bytes;
    BytesPerSecond by bandwidth;
    FlopsPerSecond by throughput;
    ItemsPerSecond by |rate| items(rate, "items");
    Hertz by clock;
    Joules by energy;
    Watts by power;
}
