//! Numbers of requests and replies. In: a request; out: replies that repeat its number, so that none is taken for the reply to
//! another, and that say so if a copy of the worker sends them: a launch may `fork` and return in both processes.

use serde::{Deserialize, Serialize};

use super::{Reply, Request};

/// A request with its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Numbered {
    /// The number, which no other request to this worker has.
    pub number: u64,
    /// The request.
    pub request: Request,
}

/// A reply with the number of its request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The number of the request.
    pub number: u64,
    /// True if a forked copy of the worker sends it. Such a copy ends behind it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_copy: bool,
    /// The reply.
    pub reply: Reply,
}

impl Answer {
    /// Returns the worker's own reply to the request of this number.
    #[must_use]
    pub(crate) fn new(number: u64, reply: Reply) -> Self {
        Self { number, is_copy: false, reply }
    }
}
