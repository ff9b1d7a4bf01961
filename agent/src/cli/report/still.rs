//! A condition that was reported false and stays True: another daemon claims a problem of it.

use std::io::{self, Write};

use nodewell_client::Client;
use nodewell_model::{ConditionStatus, Name, view::NodeView};

use crate::cli::render::one_line;

/// Warns on stderr of the daemon that holds `condition` True still, if one does.
pub(super) async fn warn(client: &Client, condition: &Name, subject: Option<&str>) {
    // The report was taken: without the account there is only nothing more to say.
    let Ok(view) = client.get::<NodeView>("/v1/status").await else { return };
    if let Some(line) = held(&view, condition, subject) {
        // Without stderr there is nowhere to write to.
        let _ = writeln!(io::stderr(), "warning: {line}");
    }
}

/// What the daemon itself claimed of `subject`, or of any without one, has ended by its report: others claim the rest.
fn held(view: &NodeView, condition: &Name, subject: Option<&str>) -> Option<String> {
    let is_true = |status: ConditionStatus| status == ConditionStatus::True;
    let of_type = view.conditions.iter().find(|one| one.condition == *condition && is_true(one.status))?;
    let mut turning = of_type.problems.iter().filter(|problem| problem.turns_condition());
    let problem = turning.find(|problem| subject.is_none() || problem.subject.as_deref() == subject)?;
    let (reason, source) = (&problem.reason, one_line(&problem.source));
    Some(format!(
        "{condition} is still True: {reason} is claimed by {source}; that daemon ends it, or root by \
         `nodewell clear {condition}`"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_other_daemon_is_named() {
        let time = "2026-12-01T08:00:00Z";
        let line = |status: &str, subject: Option<&str>| {
            let problem = json!({"id": "1", "reason": "AppDown", "subject": "db", "severity": "error", "since": time,
                "last_seen": time, "count": 1, "message": "", "source": "app@run-u7.service"});
            let condition = json!({"type": "AppUnhealthy", "status": status, "reason": "AppDown", "message": "",
                "transition": time, "problems": [problem]});
            let view = json!({"node": "n1", "daemons": [], "conditions": [condition],
                "apiserver": {"state": "disabled", "last_success": null}});
            let view: NodeView = serde_json::from_value(view).unwrap();
            held(&view, &Name::fixed("AppUnhealthy"), subject)
        };
        let expected = "AppUnhealthy is still True: AppDown is claimed by app@run-u7.service; that daemon ends it, or \
                        root by `nodewell clear AppUnhealthy`";
        assert_eq!(line("True", None).as_deref(), Some(expected));
        assert_eq!(line("True", Some("db")).as_deref(), Some(expected));
        assert_eq!(line("True", Some("web")), None, "of another subject it may be this daemon's own");
        assert_eq!(line("False", None), None);
    }
}
