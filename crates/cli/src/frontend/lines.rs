//! A turn for a program: one JSON object a line on stdout.

use super::{Approver, Listener, Written};
use crate::exit::Failure;
use crate::print;
use carrick_host::turn::{Approval, Event, Frontend, Verdict};
use futures_util::future::BoxFuture;

pub(crate) struct JsonLines {
    approver: Approver,
    written: Written,
}

impl JsonLines {
    pub(crate) fn new(approver: Approver) -> Self {
        Self { approver, written: Written::default() }
    }
}

impl Frontend for JsonLines {
    fn event(&self, event: &Event) {
        self.written.note(print::json(event));
    }

    fn approve<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approver.decide(approval, self))
    }
}

impl Listener for JsonLines {
    fn finish(&self) -> Result<(), Failure> {
        self.written.finish()
    }
}
