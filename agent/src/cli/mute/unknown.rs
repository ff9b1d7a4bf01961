//! A mute of a reason that is not known here: it may be a slip of the fingers, or a daemon's that comes later.

use std::io::{self, Write};

use nodewell_client::Client;
use nodewell_model::{Name, view::NodeView};
use nodewell_rules::{explain::nearest_word, load};

use crate::cli::{
    explain::{Names, names},
    rules::RuleChoice,
};

/// Warns on stderr of a `reason` that is in no rule and no problem; the mute holds all the same.
pub(super) async fn warn(client: &Client, reason: &Name) {
    // An agent that does not answer any more has muted it: there is only less to compare with.
    let view: Option<NodeView> = client.get("/v1/status").await.ok();
    // Rules with errors are left out: `nodewell check` reports them.
    let known = names(&load(&RuleChoice::installed().plan()).set);
    if let Some(warning) = warning(reason, &known, view.as_ref()) {
        // Without stderr there is nowhere to write to.
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
}

fn warning(reason: &Name, known: &Names, view: Option<&NodeView>) -> Option<String> {
    let conditions = || view.into_iter().flat_map(|view| &view.conditions);
    let present: Vec<&Name> = conditions().flat_map(|one| &one.problems).map(|problem| &problem.reason).collect();
    if known.reasons.contains(reason) || present.contains(&reason) {
        return None;
    }
    if known.conditions.contains(reason) || conditions().any(|one| one.condition == *reason) {
        return Some(format!("{reason} is a condition; a mute takes a reason of it"));
    }
    let candidates = present.into_iter().chain(&known.reasons).map(Name::as_str);
    let near = nearest_word(reason.as_str(), candidates).map(|near| format!("; did you mean {near}?"));
    Some(format!("no rule and no present problem has the reason {reason}{}", near.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slip_and_a_condition_are_named() {
        let time = "2026-12-01T08:00:00Z";
        let problem = json!({"id": "1", "reason": "MyDaemonBackendLost", "severity": "error", "since": time,
            "last_seen": time, "count": 1, "message": "", "source": "app@root"});
        let condition = json!({"type": "MyDaemonUnhealthy", "status": "True", "reason": "MyDaemonBackendLost",
            "message": "", "transition": time, "problems": [problem]});
        let view = json!({"node": "n1", "daemons": [], "conditions": [condition],
            "apiserver": {"state": "disabled", "last_success": null}});
        let view: NodeView = serde_json::from_value(view).unwrap();
        let known = Names {
            reasons: vec![Name::fixed("IOError"), Name::fixed("KernelOops")],
            conditions: vec![Name::fixed("DiskUnhealthy")],
        };
        let warned = |reason: &str| warning(&Name::new(reason).unwrap(), &known, Some(&view)).unwrap_or_default();
        assert_eq!((warned("KernelOops").as_str(), warned("MyDaemonBackendLost").as_str()), ("", ""));
        assert_eq!(
            warned("MyDeamonBackendLost"),
            "no rule and no present problem has the reason MyDeamonBackendLost; did you mean MyDaemonBackendLost?"
        );
        assert_eq!(
            warned("SomethingElseAltogether"),
            "no rule and no present problem has the reason SomethingElseAltogether"
        );
        for condition in ["MyDaemonUnhealthy", "DiskUnhealthy"] {
            assert_eq!(warned(condition), format!("{condition} is a condition; a mute takes a reason of it"));
        }
        assert_eq!(warning(&Name::fixed("IOError"), &known, None), None);
    }
}
