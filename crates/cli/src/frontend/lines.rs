//! A turn for a program: one JSON object a line on stdout.

use super::Approver;
use crate::print;
use carrick_host::turn::{Approval, Event, Frontend, Verdict};
use futures_util::future::BoxFuture;

pub(crate) struct JsonLines {
    approver: Approver,
}

impl JsonLines {
    pub(crate) fn new(approver: Approver) -> Self {
        Self { approver }
    }
}

impl Frontend for JsonLines {
    fn event(&self, event: &Event) {
        if let Err(failure) = print::json(event) {
            failure.report();
        }
    }

    fn approve<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approver.decide(approval, self))
    }
}
