//! Who may report, clear and inject: a peer's identity against the grants in force at that moment, and its rate. Every
//! rejection states what would allow it, and is accounted for.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::StatusCode;
use nodewell_ledger::Sender;
use nodewell_model::{Name, Status, view::RefusedView};
use tokio::sync::watch;

use super::{
    Access,
    account::Account,
    answer::Rejection,
    grants::{Grants, Missing, Rights},
    peer::{Identity, Peer},
    rate::Rates,
};
use crate::{bucket::Rate, runtime::clock};

/// Where the example in a rejection goes.
/// A file of its own: dpkg asks about a changed nodewell.toml at each upgrade that has another one.
const GRANTS: &str = "/etc/nodewell/nodewell.toml.d/grants.toml";
/// For so long after a start what has ended is no news: an agent that is killed takes its check processes with it, and what
/// they had sent waits at the socket.
const LEFTOVERS: Duration = Duration::from_secs(10);
/// What no `[[grant]]` of the config gives.
const COUNTING: &str = "devices of the node are counted only by nodewell's own check processes, root and the agent's own \
                        user, because all counts are added up: leave the field `hardware` out";

/// The one type that decides.
pub(super) struct Gate {
    grants: watch::Receiver<Arc<Grants>>,
    /// For a peer that has no grant with a rate.
    rate: Rate,
    /// The agent's own user: it may do what root may.
    owner: u32,
    rates: Mutex<Rates>,
    account: Mutex<Account>,
    /// When it was made, since the boot.
    began: Duration,
}

impl Gate {
    pub(super) fn new(Access { grants, rate }: Access, owner: u32) -> Self {
        Self { grants, rate, owner, rates: Mutex::default(), account: Mutex::default(), began: clock::boottime() }
    }

    /// Whether `peer` may report now; asked before the body is read.
    pub(super) fn rate(&self, peer: &Peer) -> Result<(), Rejection> {
        let who = peer.identity();
        let rate = self.grants.borrow().of(who, self.owner).rate(self.rate);
        let taken = lock(&self.rates).take(who.principal(), rate, clock::boottime());
        taken.map_err(|wait| {
            self.note_rejection(who, "", &format!("more than {} reports/s", per_second(rate)));
            too_often(who, rate, wait)
        })
    }

    /// As whom `peer` may report all of `reports`. Each beyond the first is charged to its rate here.
    pub(super) fn admit(&self, peer: &Peer, reports: &[Status]) -> Result<Sender, Rejection> {
        let who = peer.identity();
        let source = reports.first().map_or("", |report| &report.source);
        let grants = self.grants.borrow();
        let rights = grants.of(who, self.owner);
        if let Some(why) = who.shut_out() {
            if !self.is_leftover(who) {
                self.note_rejection(who, source, &why);
            }
            return Err(forbidden(format!("{why}; only the host's own units, users and groups may report")));
        }
        let missing = rights.missing(reports);
        if !rights.may_report() || !missing.is_nothing() {
            self.note_rejection(who, source, &format!("may not report {}", what(&missing)));
            return Err(forbidden(ungranted(who, &missing)));
        }
        let (rate, now) = (rights.rate(self.rate), clock::boottime());
        lock(&self.rates).owe(who.principal(), reports.len().saturating_sub(1), rate, now);
        let may_use_reserve = rights.are_of_everything();
        // No peer can use another's name.
        Ok(Sender { principal: Arc::clone(who.principal()), on_stale: rights.on_stale(), may_use_reserve })
    }

    /// Whether `peer` may clear anything at all; asked before the body is read.
    pub(super) fn may_clear_something(&self, peer: &Peer) -> Result<(), Rejection> {
        self.act(peer, "clearing a condition", Some("CONDITION"), |rights| rights.may_clear_something())
    }

    /// Whether `peer` may end `condition`'s problems, whichever source claims them; its user or unit, if it may so by no
    /// more than a grant for some types.
    pub(super) fn may_clear(&self, peer: &Peer, condition: &Name) -> Result<Option<Arc<str>>, Rejection> {
        let what = format!("clearing {condition}");
        self.act(peer, &what, Some(condition.as_str()), |rights| rights.may_clear(condition))?;
        let who = peer.identity();
        let by_grant = !self.grants.borrow().of(who, self.owner).are_of_everything();
        Ok(by_grant.then(|| Arc::clone(who.principal())))
    }

    pub(super) fn may_inject(&self, peer: &Peer) -> Result<(), Rejection> {
        self.act(peer, "injecting a problem", None, |rights| rights.is_unbounded())
    }

    /// Whether `peer` may do `what` to problems and daemons, and who does: muting, calling false positives, forgetting.
    pub(super) fn may_silence(&self, peer: &Peer, what: &str) -> Result<String, Rejection> {
        self.act(peer, what, None, |rights| rights.is_unbounded())?;
        Ok(peer.identity().actor())
    }

    /// The peers that were refused of late, newest first.
    pub(super) fn rejections(&self) -> Vec<RefusedView> {
        lock(&self.account).views()
    }

    /// `clears`: what a grant lets a peer do, if there is one for it: to end this condition.
    fn act(
        &self,
        peer: &Peer,
        what: &str,
        clears: Option<&str>,
        may: impl Fn(&Rights<'_>) -> bool,
    ) -> Result<(), Rejection> {
        let who = peer.identity();
        if may(&self.grants.borrow().of(who, self.owner)) {
            return Ok(());
        }
        let owner = self.owner;
        let rule = format!("{what} is for root and the agent's own user (uid {owner})");
        let error = match (who.shut_out(), clears) {
            (Some(why), _) => format!("{rule} on the host itself; {why}"),
            (None, None) => format!("{rule}, and no [[grant]] gives it; you are {who}: try sudo"),
            (None, Some(condition)) => format!(
                "{rule}; you are {who}: try sudo; to allow it, add to {GRANTS} and reload nodewell:\n{}clear = \
                 [{condition:?}]\n",
                grant_to(who)
            ),
        };
        let why = who.shut_out().unwrap_or_else(|| "only root and the agent's own user may".to_owned());
        self.note_rejection(who, "", &format!("{what}: {why}"));
        Err(forbidden(error))
    }

    /// Whether it may be a report that waited at the socket while the agent was away.
    fn is_leftover(&self, who: &Identity) -> bool {
        who.has_ended() && clock::boottime() < self.began + LEFTOVERS
    }

    fn note_rejection(&self, who: &Identity, source: &str, why: &str) {
        lock(&self.account).add(who, source, why, clock::now());
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forbidden(error: String) -> Rejection {
    Rejection::new(StatusCode::FORBIDDEN, error)
}

fn too_often(who: &Identity, rate: Rate, wait: Duration) -> Rejection {
    // Rounded up: a peer that comes back then is let in.
    let secs = wait.as_millis().div_ceil(1000).max(1);
    let error = format!(
        "{who} may report {} times a second, {} at once; wait {secs} s, or give it a [[grant]] with a higher rate",
        per_second(rate),
        rate.burst
    );
    let retry_after_secs = Some(u32::try_from(secs).unwrap_or(u32::MAX));
    Rejection { retry_after_secs, ..Rejection::new(StatusCode::TOO_MANY_REQUESTS, error) }
}

/// Reports a second, for people: `20`, `0.1`.
fn per_second(rate: Rate) -> f64 {
    let exact = 1.0 / rate.interval.as_secs_f64();
    (exact * 1000.0).round() / 1000.0
}

/// `condition RaidProblem, events`.
fn what(missing: &Missing) -> String {
    let names = |names: &[Name]| names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    match missing.conditions.as_slice() {
        [] => {}
        [one] => parts.push(format!("condition {one}")),
        many => parts.push(format!("conditions {}", names(many))),
    }
    if missing.events {
        parts.push("events".to_owned());
    }
    if missing.hardware {
        parts.push("hardware".to_owned());
    }
    if !missing.reasons.is_empty() {
        parts.push(format!("with reason {}", names(&missing.reasons)));
    }
    if parts.is_empty() { "anything".to_owned() } else { parts.join(", ") }
}

/// What is missing, and what to do about it.
fn ungranted(who: &Identity, missing: &Missing) -> String {
    let what = what(missing);
    let add = format!("add to {GRANTS} and reload nodewell:\n{}", example(who, missing));
    if !missing.hardware {
        return format!("{who} may not report {what}; to allow it, {add}");
    }
    let is_all = Missing { hardware: true, ..Missing::default() } == *missing;
    let rest = if is_all { String::new() } else { format!("; to allow the rest, {add}") };
    format!("{who} may not report {what}; {COUNTING}{rest}")
}

/// The TOML that would give it.
fn example(who: &Identity, missing: &Missing) -> String {
    let list = |names: &[Name]| names.iter().map(|name| format!("{:?}", name.as_str())).collect::<Vec<_>>().join(", ");
    let mut toml = grant_to(who);
    // A heartbeat alone does not show what its daemon is about.
    if missing.is_nothing() {
        toml += "conditions = [\"…\"]\n";
    } else if !missing.conditions.is_empty() {
        toml += &format!("conditions = [{}]\n", list(&missing.conditions));
    }
    if missing.events {
        toml += "events = true\n";
    }
    if !missing.reasons.is_empty() {
        toml += &format!("reasons = [{}]\n", list(&missing.reasons));
    }
    toml
}

/// What systemd gives services with `DynamicUser=`, and to others later.
const DYNAMIC_USERS: std::ops::RangeInclusive<u32> = 61184..=65519;

/// The beginning of a grant for it. In a file a unit's name is of use only if the next run has it, too.
fn grant_to(who: &Identity) -> String {
    match who.service() {
        Some(unit) if who.is_of_one_run() && DYNAMIC_USERS.contains(&who.uid()) => {
            let note = format!("# {unit} and uid {} are of one run: give the service a name (--unit=NAME)", who.uid());
            format!("{note}\n[[grant]]\nunit = \"NAME.service\"\n")
        }
        Some(unit) if who.is_of_one_run() => {
            let note = format!("# {unit} is the name of one run; a service with a lasting name takes unit = \"…\"");
            format!("{note}\n[[grant]]\nuser = {}\n", who.uid())
        }
        Some(unit) => format!("[[grant]]\nunit = {unit:?}\n"),
        None => format!("[[grant]]\nuser = {}\n", who.uid()),
    }
}

#[cfg(test)]
mod tests;
