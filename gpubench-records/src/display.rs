//! `Display` of enums: the name that serde gives a variant is what files, tables and the command line call it.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::{Answer, Cache, Flush, Path, ShareMode, Stage, State};

macro_rules! display_by_name {
    ($($name:ty),+) => {$(
        impl Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }
    )+};
}

display_by_name!(Answer, Cache, Flush, Path, ShareMode, Stage, State);
