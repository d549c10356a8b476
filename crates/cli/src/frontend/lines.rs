//! A turn for a program: one JSON object a line on stdout.

use super::{Approver, Listener, Written};
use crate::exit::Failure;
use crate::print;
use carrick::types::ElicitResult;
use carrick_host::asks::{Question, Sampling};
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

    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, ElicitResult> {
        Box::pin(self.approver.elicit(question, self))
    }

    fn permit_sampling<'a>(&'a self, sampling: &'a Sampling) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approver.sampling(sampling, self))
    }
}

impl Listener for JsonLines {
    fn finish(&self) -> Result<(), Failure> {
        self.written.finish()
    }
}
