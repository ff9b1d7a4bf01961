//! Random histories in which rules find, daemons report and people speak of the same things.

use nodewell_model::{Ack, Mute, MuteKey, Status};
use proptest::prelude::*;

use super::{
    super::{
        reporting::histories::reported,
        steps::{self, CONDITIONS, REASONS},
    },
    *,
};
use crate::Applied;

/// What is done at one time.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    /// Of a rule or a monitor; or time passes, or a person ends problems.
    Rules(steps::Deed),
    Report(Status, &'static str, OnStale),
    Word(Word),
}

/// What a person says of problems, and of daemons that may never come again.
#[derive(Debug, Clone)]
pub(super) enum Word {
    /// For so many seconds.
    Mute(MuteKey, u8),
    Unmute(MuteKey),
    Ack(MuteKey),
    Unack(MuteKey),
    GiveUp(&'static str),
}

/// The same before there is a time.
#[derive(Debug, Clone)]
enum Step {
    Rules(steps::Step),
    Timeless(Deed),
}

pub(super) fn histories() -> impl Strategy<Value = Vec<(Deed, Now)>> {
    let report =
        reported().prop_map(|(status, principal, on_stale)| Step::Timeless(Deed::Report(status, principal, on_stale)));
    let step = prop_oneof![
        6 => steps::step().prop_map(Step::Rules),
        5 => report,
        2 => word().prop_map(|word| Step::Timeless(Deed::Word(word))),
    ];
    prop::collection::vec(step, 1..60).prop_map(|steps| timed(&steps))
}

fn word() -> impl Strategy<Value = Word> {
    let key = || {
        (0_usize..2, prop::option::of(0_u8..3)).prop_map(|(reason, subject)| MuteKey {
            reason: Name::fixed(REASONS[reason]),
            condition: None,
            subject: subject.map(|n| format!("sd{n}")),
        })
    };
    prop_oneof![
        (key(), 1_u8..100).prop_map(|(key, secs)| Word::Mute(key, secs)),
        key().prop_map(Word::Unmute),
        key().prop_map(Word::Ack),
        key().prop_map(Word::Unack),
        prop::sample::select(&CONDITIONS[..]).prop_map(Word::GiveUp),
    ]
}

fn timed(steps: &[Step]) -> Vec<(Deed, Now)> {
    let mut now = at(0);
    steps.iter().filter_map(|step| step.deed(&mut now).map(|deed| (deed, now))).collect()
}

impl Step {
    fn deed(&self, now: &mut Now) -> Option<Deed> {
        match self {
            Self::Rules(step) => step.deed(now).map(Deed::Rules),
            Self::Timeless(deed) => Some(deed.clone()),
        }
    }
}

impl Deed {
    /// Whose claims it may change: those of one source, or of none, which has no name. `None`: of every source, because
    /// time passes or a person ends problems.
    pub(super) fn source(&self) -> Option<String> {
        match self {
            Self::Rules(steps::Deed::Finding(finding)) => Some(finding.source.to_string()),
            Self::Rules(steps::Deed::Daemon(report)) => Some(report.name.to_string()),
            Self::Rules(steps::Deed::Retire(source)) => Some((*source).to_owned()),
            Self::Report(status, principal, _) => Some(format!("{}@{principal}", status.source)),
            Self::Word(_) => Some(String::new()),
            Self::Rules(steps::Deed::ByHand(_) | steps::Deed::Wait) => None,
        }
    }

    /// Returns whether it was taken; of findings, those alone that something is wrong.
    pub(super) fn perform(&self, ledger: &mut Ledger, now: Now) -> bool {
        match self {
            Self::Rules(steps::Deed::Finding(finding)) => {
                let came = ledger.apply(finding.clone(), now);
                matches!(came, Ok(Applied::Event | Applied::Started | Applied::Repeated))
            }
            Self::Report(status, principal, on_stale) => {
                ledger.report(vec![status.clone()], &sender(principal, *on_stale), now).is_ok()
            }
            Self::Rules(deed) => {
                steps::apply(ledger, &[(deed.clone(), now)]);
                true
            }
            Self::Word(word) => {
                word.say(ledger, now);
                true
            }
        }
    }
}

impl Word {
    fn say(&self, ledger: &mut Ledger, now: Now) {
        let (by, why) = ("root".to_owned(), "a part is on order".to_owned());
        match self {
            Self::Mute(key, secs) => {
                let until = now.wall + jiff::SignedDuration::from_secs(i64::from(*secs));
                _ = ledger.mute(Mute { key: key.clone(), until, why, by, configured: false }, now);
            }
            Self::Unmute(key) => _ = ledger.unmute(key, &by, now),
            Self::Ack(key) => _ = ledger.ack(key, &Ack { at: now.wall, by, why }, now),
            Self::Unack(key) => _ = ledger.unack(key, &by, now),
            Self::GiveUp(condition) => _ = ledger.give_up(&Name::fixed(condition), |principal| principal == by, now),
        }
    }
}
