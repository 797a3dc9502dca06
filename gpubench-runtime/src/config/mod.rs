//! The user's file of settings: `gpubench.toml`, or the tables `package.metadata.gpubench` and `workspace.metadata.gpubench` of a
//! `Cargo.toml`. In: the nearest of them, or the one that the user names. Out: flags with their values, profiles of them, and peaks
//! of devices, each with its line.
//!
//! ```toml
//! precision = "1%"
//! arg = { n = [1024, "1Mi"] }
//!
//! [profile.ci]
//! quick = true
//!
//! [peaks."NVIDIA H200"]
//! memory = "4800GB/s"
//! "bf16 tensor" = "800TFLOP/s"
//! ```

mod file;
mod mistake;
mod peaks;
mod settings;
mod written_peak;

pub use self::file::ConfigFile;
pub(crate) use self::mistake::{FileError, FileMistake};
pub(crate) use self::settings::Setting;
pub(crate) use self::written_peak::{PeakTextError, read_peak};
