//! `conditions`: the reason and message of each condition while nothing is wrong.

use nodewell_model::{ConditionSpec, Name};

use super::{
    json::{Object, Text},
    names,
};
use crate::{
    draft::{ConditionDraft, Draft},
    report::Report,
};

/// The last two are in the type that Node Problem Detector reads them into; it overwrites both.
const KEYS: [&str; 5] = ["type", "reason", "message", "status", "transition"];

pub(super) fn read(file: &Object<'_>, draft: &mut Draft, report: &mut Report<'_>) {
    for object in file.objects("conditions", report) {
        object.note_unknown(&KEYS, report);
        let condition = names::read("type", &object.text("type", report), report);
        let reason = object.text("reason", report);
        let message = object.text("message", report).text;
        let Some(condition) = condition else { continue };
        let Some(healthy_reason) = healthy_reason(&condition, &reason, report) else {
            draft.broken.push(condition.as_str().to_owned());
            continue;
        };
        let spec = ConditionSpec { condition, healthy_reason, healthy_message: message };
        draft.conditions.push(ConditionDraft { spec, meaning: String::new(), location: report.location(object.at) });
    }
}

/// A condition without a reason is allowed there and refused by the API server's own conventions.
fn healthy_reason(condition: &Name, reason: &Text, report: &mut Report<'_>) -> Option<Name> {
    if reason.text.is_empty() {
        Name::new(&format!("No{condition}")).ok()
    } else {
        names::read("reason", reason, report)
    }
}
