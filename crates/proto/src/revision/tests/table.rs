//! The tables themselves: methods, and changes as data.

use super::super::change::{Change, Op};
use super::*;
use alloc::vec;

#[test]
fn every_method_has_a_row_and_a_name_of_its_own() {
    for &method in Method::ALL {
        let row = method_row(method).expect("a row");
        assert!(row.until.is_none_or(|until| row.since <= until), "{method:?}");
        assert_eq!(Method::from_name(method.name().as_bytes()), method);
        assert_eq!(row.is_request, !method.name().starts_with("notifications/"));
    }
    assert!(method_row(Method::Unknown).is_none());
}

#[test]
fn each_revision_changes_a_part_once_and_every_list_can_be_followed() {
    for &revision in Revision::ALL {
        let changes = revision.changes();
        for (at, change) in changes.iter().enumerate() {
            assert!(!changes[..at].iter().any(|c| c.on == change.on), "{revision} {:?}", change.on);
            assert!(!change.up.is_empty() || !change.down.is_empty(), "{revision} {:?}", change.on);
            let Change { up, down, .. } = change;
            [up, down].into_iter().for_each(|ops| check(ops));
        }
    }
}

/// A step that a pass would never reach is a mistake in the data.
fn check(ops: &[Op]) {
    assert!(ops.len() < 64, "a bit for each step");
    let mut inside = vec![];
    for (at, op) in ops.iter().enumerate() {
        match op {
            Op::In(name, inner) => {
                assert!(!inside.contains(name), "{name} is entered twice");
                inside.push(name);
                check(inner);
            }
            Op::Each(inner) | Op::Items(inner) => check(inner),
            Op::Rebuild(_) => {
                let before = ops[..at].iter().all(|op| matches!(op, Op::Rebuild(_)));
                assert!(before, "a value is made anew before anything else");
            }
            _ => {}
        }
    }
    let alone = ops.iter().any(|op| matches!(op, Op::Each(_) | Op::Items(_)));
    let others = ops.iter().filter(|op| !matches!(op, Op::Rebuild(_))).count();
    assert!(!alone || others == 1, "elements are gone to, and nothing else");
}
