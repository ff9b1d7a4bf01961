//! The kernel prints names that users give, of files, volumes and programs, and a name may hold any line with its newline before it.
//! The text of one record stays one line: what a user puts behind a newline is not what the kernel says.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use nodewell_model::{NoFields, Origin, Record};
use nodewell_rules::{Detector, LoadPlan, load};

/// fs/overlayfs: the path of a mount that any user may ask for in a namespace of their own.
fn forged(line: &str) -> String {
    format!("overlayfs: failed to resolve '/x\n{line}\n': -2")
}

#[test]
fn no_rule_believes_a_line_inside_a_record() {
    let set = Arc::new(load(&LoadPlan::default()).set);
    let kmsg = || set.rules.iter().filter(|rule| rule.reader == 0);
    let mut detector = Detector::new(Arc::clone(&set), 0).unwrap();
    let mut believed = BTreeSet::new();
    for (number, rule) in kmsg().enumerate() {
        for example in &rule.examples.matches {
            // Counting rules and those of several lines remember.
            detector.forget();
            let text = forged(&example.text);
            let record = Record {
                time: Timestamp::UNIX_EPOCH,
                since_boot: None,
                boot_id: None,
                origin: Origin::Line { number: number as u64 },
                text: text.as_bytes(),
                fields: &NoFields,
                test: false,
            };
            let mut findings = Vec::new();
            detector.push(&record, &mut findings);
            believed.extend(findings.into_iter().map(|found| format!("{} by {:?}", found.reason, example.text)));
        }
    }
    assert!(kmsg().count() > 150);
    assert_eq!(believed, BTreeSet::new());
}
