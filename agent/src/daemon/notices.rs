//! What the API server's exporter learns of other writers of the Node, as Events.

use std::rc::Rc;

use jiff::SignedDuration;
use nodewell_faults::message;
use nodewell_model::Finding;
use tokio::sync::{Mutex, mpsc};

use crate::{
    exporters::apiserver::Notice,
    monitors::{
        ledger_sender::{LedgerSender, Report},
        own_event::own_event,
    },
};

const SOURCE: &str = "apiserver";

/// One task runs at a time; started again, it goes on with the same channel.
pub(super) type Notices = Rc<Mutex<mpsc::Receiver<Notice>>>;

/// Reports each notice; ends with the exporter.
pub(super) async fn report(notices: Notices, ledger_sender: LedgerSender) {
    let mut notices = notices.lock().await;
    while let Some(notice) = notices.recv().await {
        ledger_sender.send(Report::Finding(Box::new(event(&notice)))).await;
    }
}

fn event(notice: &Notice) -> Finding {
    match notice {
        Notice::ConditionConflict { condition, manager } => {
            let text = message("ConditionConflict", &[("condition", condition), ("writer", manager)]);
            own_event(SOURCE, "ConditionConflict", text)
        }
        Notice::ConditionTakenOver { condition, silence } => {
            let silence = SignedDuration::try_from(*silence).unwrap_or_default();
            let args = [("condition", condition as _), ("silence", &format_args!("{silence:#}") as _)];
            own_event(SOURCE, "ConditionTakenOver", message("ConditionTakenOver", &args))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use nodewell_model::Name;

    use super::*;

    #[tokio::test]
    async fn a_second_writer_is_an_event_with_its_name() {
        let (sender, receiver) = mpsc::channel(2);
        let (ledger_sender, mut reports) = LedgerSender::channel();
        let condition = Name::fixed("KernelDeadlock");
        let conflict =
            Notice::ConditionConflict { condition: condition.clone(), manager: "node-problem-detector".into() };
        sender.send(conflict).await.unwrap();
        sender.send(Notice::ConditionTakenOver { condition, silence: Duration::from_mins(15) }).await.unwrap();
        drop(sender);
        report(Rc::new(Mutex::new(receiver)), ledger_sender).await;
        let mut events = Vec::new();
        while let Some(Report::Finding(event)) = reports.recv().await {
            assert_eq!(event.condition, None);
            events.push(format!("{}: {}", event.reason, event.message));
        }
        assert_eq!(
            events,
            [
                "ConditionConflict: KernelDeadlock is also written by \"node-problem-detector\", and ours is not shown; \
                 stop one of the two, or see `take-over` in nodewell.toml",
                "ConditionTakenOver: KernelDeadlock is ours again: its other writer has not written it for 15m"
            ]
        );
    }
}
