//! The columns of the conditions' rows, as wide as their widest cell where there is room.

use nodewell_model::view::ConditionView;
use nodewell_time::age;

use super::super::{
    super::look::{Look, Paint},
    GAP, MESSAGE_MIN, Table,
};

/// `Unknown`, the longest.
pub(super) const STATUS_WIDTH: usize = 7;
/// Below this reasons are no longer distinguishable.
const REASON_MIN: usize = 12;
/// With less room than this for reasons, each has a line of its own below its row.
const REASON_BESIDE_MIN: usize = 8;

pub(super) struct Columns {
    condition: usize,
    since: usize,
    /// 0: on a terminal so narrow, rows have only condition and status.
    reason: usize,
    /// What fits beside the others.
    pub(super) message: usize,
}

impl Columns {
    pub(super) fn of(conditions: &[&ConditionView], table: &Table<'_>) -> Self {
        let widest = |title: &str, cell: &dyn Fn(&ConditionView) -> usize| {
            conditions.iter().map(|condition| cell(condition)).max().unwrap_or_default().max(title.len())
        };
        let condition = widest("CONDITION", &|view| view.condition.as_str().len());
        let since = widest("SINCE", &|view| age(view.transition, table.now).len());
        let reason = widest("REASON", &|view| view.reason.as_str().len());
        let whole = Self { condition, since, reason, message: usize::MAX };
        match table.look.width {
            Some(width) => whole.within(width),
            None => whole,
        }
    }

    /// What a narrow terminal lacks is taken from the messages first, then from the reasons (problems repeat theirs
    /// below), then from the names.
    fn within(self, width: usize) -> Self {
        let fixed = STATUS_WIDTH + self.since + 3 * GAP.len();
        let condition = self.condition.min(width.saturating_sub(fixed + REASON_MIN).max(REASON_MIN));
        let room = width.saturating_sub(fixed + condition);
        if room < self.reason.min(REASON_BESIDE_MIN) {
            let condition = self.condition.min(width.saturating_sub(STATUS_WIDTH + GAP.len()));
            return Self { condition, reason: 0, message: 0, ..self };
        }
        let reason = self.reason.min(room);
        let message = room.saturating_sub(reason + GAP.len());
        Self { condition, reason, message: if message < MESSAGE_MIN { 0 } else { message }, ..self }
    }

    /// Whether a reason stands in its row.
    pub(super) fn has_reasons(&self) -> bool {
        self.reason > 0
    }

    pub(super) fn title(&self, look: &Look) -> String {
        let message = if self.message == 0 { "" } else { "MESSAGE" };
        let row = self.row(["CONDITION", "STATUS ", "SINCE", "REASON", message], look);
        format!("{}\n", look.paint(Paint::Faint, row.trim_end()))
    }

    /// Condition, status (painted, in its width), since, reason, message.
    pub(super) fn row(&self, cells: [&str; 5], look: &Look) -> String {
        let [condition, status, since, reason, message] = cells;
        let head = format!("{:<cw$}{GAP}{status}", look.fit(condition, self.condition), cw = self.condition);
        if !self.has_reasons() {
            return head.trim_end().to_owned() + "\n";
        }
        let row = format!(
            "{head}{GAP}{since:<sw$}{GAP}{:<rw$}{GAP}{message}",
            look.fit(reason, self.reason),
            sw = self.since,
            rw = self.reason,
        );
        row.trim_end().to_owned() + "\n"
    }
}
