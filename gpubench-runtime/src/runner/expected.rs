//! The replies that belong to a request. In: the request, then each answer of its worker; out: the reply, or the reason to drop
//! it: a reason never moves to another row.

use crate::worker::{Answer, Numbered, Reply, Request};
use gpubench_records::id::PlannedCase;

/// The request in progress.
pub(super) struct Expected {
    number: u64,
    /// Its cases without a record.
    left: Vec<PlannedCase>,
    /// Its cases with one.
    told: Vec<PlannedCase>,
}

/// A reply that is dropped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unexpected {
    /// It is one to another request.
    #[error("dropped a reply to request {number}, which came while request {current} was in progress")]
    OtherRequest {
        /// The number in the reply.
        number: u64,
        /// The number of the request in progress.
        current: u64,
    },
    /// It is a record of a case that has one.
    #[error("dropped a second record of {0}")]
    Doubled(String),
    /// It is a record of a case that was not requested.
    #[error("dropped a record of {0}, which was not asked for")]
    OtherCase(String),
}

impl Expected {
    pub(super) fn of(request: &Numbered) -> Self {
        let left = match &request.request {
            Request::Measure { job, .. } => job.caches.iter().map(|cache| job.case(*cache)).collect(),
            _ => Vec::new(),
        };
        Self { number: request.number, left, told: Vec::new() }
    }

    /// Returns the reply if it belongs to this request.
    pub(super) fn take(&mut self, answer: Answer) -> Result<Reply, Unexpected> {
        let Answer { number, reply, .. } = answer;
        if number != self.number {
            return Err(Unexpected::OtherRequest { number, current: self.number });
        }
        if let Reply::Record(record) = &reply {
            let case = record.planned();
            match self.left.iter().position(|left| *left == case) {
                Some(place) => self.told.push(self.left.remove(place)),
                None if self.told.contains(&case) => return Err(Unexpected::Doubled(shown(&case))),
                None => return Err(Unexpected::OtherCase(shown(&case))),
            }
        }
        Ok(reply)
    }
}

/// Returns a case in words.
pub(super) fn shown(case: &PlannedCase) -> String {
    format!("`{case}` on `{}`", case.device)
}
