//! The gaps in the data of a fleet. In: files, runs and rows that could not be used; out: a sentence for each, with its file.
//! None of it stops the answer.

use std::fmt::{self, Display};

use serde::Serialize;

use gpubench_stats::format::counted;

/// A part of the data that is missing, or was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Gap {
    /// A file cannot be read: it is damaged, or of a newer gpubench, or something else.
    Unreadable {
        /// The file.
        file: String,
        /// The reason.
        why: String,
    },
    /// A part of a file cannot be read.
    Damaged {
        /// The file.
        file: String,
        /// The fault.
        what: String,
    },
    /// A run ended before all of its cases were measured.
    Unfinished {
        /// The file.
        file: String,
        /// The number of cases that were measured.
        measured: usize,
        /// The number that were planned.
        planned: usize,
    },
    /// A run has measurements that another has too. They count once.
    Repeated {
        /// The file whose measurements are left out.
        file: String,
        /// The file that has them too.
        also: String,
        /// The number of measurements.
        measurements: usize,
    },
    /// Nothing identifies a GPU.
    NoUuid {
        /// The file.
        file: String,
        /// The device in the words of that run.
        device: String,
    },
    /// A device was never opened, so that its run does not tell which GPU it is.
    NotOpened {
        /// The file.
        file: String,
        /// The device in the words of that run, with its host.
        device: String,
        /// The reason.
        why: String,
    },
    /// A GPU was measured on several hosts. It counts as one of the first.
    Moved {
        /// The GPU.
        gpu: String,
        /// Its hosts.
        hosts: Vec<String>,
    },
    /// A host has more GPUs than a machine can have: several share its name, and count as one.
    CrowdedHost {
        /// The host.
        host: String,
        /// The number of its GPUs.
        gpus: usize,
    },
    /// A row is invalid.
    Invalid {
        /// The file.
        file: String,
        /// The GPU.
        gpu: String,
        /// The case.
        case: String,
        /// The reason.
        why: String,
    },
    /// Rows were measured in another way than on most GPUs.
    OtherMethod {
        /// The file.
        file: String,
        /// The GPU.
        gpu: String,
        /// The first of the cases.
        case: String,
        /// The number of cases.
        cases: usize,
        /// The way on this GPU.
        method: String,
        /// That on most.
        usual: String,
    },
    /// Cases that most GPUs have and one lacks.
    MissingCases {
        /// The GPU.
        gpu: String,
        /// The first of the cases.
        case: String,
        /// The number of cases.
        cases: usize,
    },
    /// Cases that fewer than half of the GPUs have: nothing can be held against them.
    RareCases {
        /// The model of the GPUs.
        model: String,
        /// The first of the cases.
        case: String,
        /// The number of cases.
        cases: usize,
    },
}

impl Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, why } => write!(f, "{file}: not read: {why}"),
            Self::Damaged { file, what } => write!(f, "{file}: {what}"),
            Self::Unfinished { file, measured, planned } => {
                write!(f, "{file}: unfinished: {measured} of {planned} cases are there")
            }
            Self::Repeated { file, also, measurements } => write!(
                f,
                "{file}: {} in {also} too: left out, so that each counts once",
                are(*measurements, "measurement")
            ),
            Self::NoUuid { file, device } => {
                write!(f, "{file}: {device} has no UUID, which tells GPUs apart: left out")
            }
            Self::NotOpened { file, device, why } => {
                write!(f, "{file}: {device} was not opened, and is not judged: {why}")
            }
            Self::Moved { gpu, hosts } => {
                write!(
                    f,
                    "{gpu}: measured on several hosts ({}): counts as one of the first",
                    hosts.join(", ")
                )
            }
            Self::CrowdedHost { host, gpus } => write!(
                f,
                "{host}: {gpus} GPUs: machines of one name count as one host, so that what their GPUs have in common is not known"
            ),
            Self::Invalid { file, gpu, case, why } => {
                write!(f, "{file}: `{case}` is invalid on {gpu} and left out: {why}")
            }
            Self::OtherMethod { file, gpu, case, cases, method, usual } => write!(
                f,
                "{file}: {} not comparable on {gpu} and left out: {method}, and {usual} on most GPUs",
                first_of(case, *cases)
            ),
            Self::MissingCases { gpu, case, cases } => {
                write!(f, "{gpu}: {} missing, which most GPUs have", first_of(case, *cases))
            }
            Self::RareCases { model, case, cases } => write!(
                f,
                "{model}: {} on fewer than half of the GPUs, and not judged",
                first_of(case, *cases)
            ),
        }
    }
}

/// Such as "`copy hot` is" or "`copy hot` and 3 other cases are".
fn first_of(case: &str, cases: usize) -> String {
    match cases {
        1 => format!("`{case}` is"),
        more => format!("`{case}` and {} are", counted(more - 1, "other case")),
    }
}

fn are(count: usize, what: &str) -> String {
    format!("{} {}", counted(count, what), if count == 1 { "is" } else { "are" })
}
