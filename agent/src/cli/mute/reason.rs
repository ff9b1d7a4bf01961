//! Whether a reason that is to be muted is known here: it may be a slip of the fingers, or a daemon's that comes later.

use std::io::{self, Write};

use nodewell_client::Client;
use nodewell_model::{Name, view::NodeView};
use nodewell_rules::{explain::nearest_word, load};

use crate::cli::{
    error::{CommandError, USAGE},
    explain::{Names, names},
    rules::RuleChoice,
};

/// What is known of a reason before it is muted.
pub(super) enum Reason {
    Known,
    /// The mute holds all the same; how to warn of it.
    Unknown(String),
}

impl Reason {
    /// # Errors
    /// If `reason` is a condition's name: no reason is meant by that.
    pub(super) async fn look(client: &Client, reason: &Name) -> Result<Self, CommandError> {
        // An agent that does not answer refuses the mute itself: there is only less to compare with.
        let view: Option<NodeView> = client.get("/v1/status").await.ok();
        // Rules with errors are left out: `nodewell check` reports them.
        let known = names(&load(&RuleChoice::installed().plan()).set);
        judge(reason, &known, view.as_ref()).map_err(|refusal| CommandError::new(USAGE, refusal))
    }

    pub(super) fn warn(&self) {
        if let Self::Unknown(warning) = self {
            // Without stderr there is nowhere to write to.
            let _ = writeln!(io::stderr(), "warning: {warning}");
        }
    }
}

fn judge(reason: &Name, known: &Names, view: Option<&NodeView>) -> Result<Reason, String> {
    let conditions = || view.into_iter().flat_map(|view| &view.conditions);
    let present: Vec<&Name> = conditions().flat_map(|one| &one.problems).map(|problem| &problem.reason).collect();
    if known.reasons.contains(reason) || present.contains(&reason) {
        return Ok(Reason::Known);
    }
    let condition = conditions().find(|one| one.condition == *reason);
    if condition.is_some() || known.conditions.contains(reason) {
        let held = condition.and_then(|one| one.problems.first()).map(|problem| format!("such as {}", problem.reason));
        let which = held.unwrap_or_else(|| format!("which `nodewell explain {reason}` lists"));
        return Err(format!("{reason} is a condition; a mute takes a reason of it, {which}"));
    }
    let candidates = present.into_iter().chain(&known.reasons).map(Name::as_str);
    let near = nearest_word(reason.as_str(), candidates).map(|near| format!("; did you mean {near}?"));
    let warning = format!("no rule and no present problem has the reason {reason}{}", near.unwrap_or_default());
    Ok(Reason::Unknown(warning))
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
        let judged = |reason: &str| match judge(&Name::new(reason).unwrap(), &known, Some(&view)) {
            Ok(Reason::Known) => String::new(),
            Ok(Reason::Unknown(warning)) => format!("warning: {warning}"),
            Err(refusal) => refusal,
        };
        assert_eq!((judged("KernelOops").as_str(), judged("MyDaemonBackendLost").as_str()), ("", ""));
        assert_eq!(
            judged("MyDeamonBackendLost"),
            "warning: no rule and no present problem has the reason MyDeamonBackendLost; did you mean MyDaemonBackendLost?"
        );
        assert_eq!(
            judged("SomethingElseAltogether"),
            "warning: no rule and no present problem has the reason SomethingElseAltogether"
        );
        assert_eq!(
            judged("MyDaemonUnhealthy"),
            "MyDaemonUnhealthy is a condition; a mute takes a reason of it, such as MyDaemonBackendLost"
        );
        assert_eq!(
            judged("DiskUnhealthy"),
            "DiskUnhealthy is a condition; a mute takes a reason of it, which `nodewell explain DiskUnhealthy` lists"
        );
        assert!(matches!(judge(&Name::fixed("IOError"), &known, None), Ok(Reason::Known)));
    }
}
