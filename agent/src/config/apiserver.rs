//! `[apiserver]`: what goes to the API server, and how often.

use std::time::Duration;

use nodewell_settings::{
    Key, Kind, ReadKeys, Report, Schema, Section, Table,
    kind::{Time, Word, quoted},
};

use super::{LeaseConfig, LeaseMode};

/// Less would load the API server; the kubelet writes as often at most.
const HEARTBEATS: Time = Time::ANY
    .not_below(Duration::from_secs(10), "would load the API server; use \"5m\", as the kubelet does")
    .not_above(Duration::from_mins(5), "without a Lease, 15 minutes of silence count as death");
const RENEWALS: Time = Time::from(Duration::from_secs(10)).to(Duration::from_mins(1));
const NAMESPACE: Word<String> = Word {
    takes: "\"default\" or \"kube-system\"",
    read: |text| match text {
        "default" | "kube-system" => Ok(text.to_owned()),
        _ => Err(format!(
            "{text:?} is neither default nor kube-system: the API server refuses Events about Nodes elsewhere"
        )),
    },
    shown: String::clone,
};
/// So many heartbeats of silence: the other writer is looked at so often.
const SILENT_HEARTBEATS: u32 = 3;

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiserverSettings {
    pub event_namespace: String,
    pub heartbeat: Duration,
    pub take_over: TakeOver,
    pub lease: LeaseConfig,
}

/// When conditions of our types are taken from another writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOver {
    Never,
    /// It has not written for so long: a Node Problem Detector that was removed.
    AfterSilence(Duration),
    AtOnce,
}

impl Table for ApiserverSettings {
    const NAME: &'static str = "[apiserver]";
    const ABOUT: &'static str = "What goes to the API server, and how often.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("event-namespace", |it| &mut it.event_namespace, NAMESPACE)
                .help("Where Events are; the API server refuses those about Nodes elsewhere."),
            Self::key("heartbeat", |it| &mut it.heartbeat, HEARTBEATS)
                .help("How often the Node is written while nothing changes (KEP-589)."),
            Self::key("take-over", |it| &mut it.take_over, TakeOverKind)
                .help("Takes conditions of our types from another writer that has not written for so long."),
            Self::key("lease", |it| &mut it.lease.mode, LeaseKind).help(
                "A Lease in the namespace nodewell; \"auto\": where the identity may keep one; true: that it may \
                     not is a fault.",
            ),
            Self::key("lease-renew", |it| &mut it.lease.renew, RENEWALS)
                .help("How often it is renewed; the Lease runs out after four times as long."),
        ]
    }

    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        let shortest = self.heartbeat.saturating_mul(SILENT_HEARTBEATS);
        if read.has_all(&["take-over"])
            && matches!(self.take_over, TakeOver::AfterSilence(silence) if silence < shortest)
        {
            report.error(
                read.position("take-over"),
                "\"take-over\" takes three times \"heartbeat\" or more: the other writer is looked at so often; \
                 true: at once; false: never",
            );
        }
    }
}

impl Default for ApiserverSettings {
    fn default() -> Self {
        Self {
            event_namespace: "default".to_owned(),
            heartbeat: Duration::from_mins(5),
            take_over: TakeOver::default(),
            lease: LeaseConfig::default(),
        }
    }
}

impl Default for TakeOver {
    /// Three periods of Node Problem Detector and of ourselves.
    fn default() -> Self {
        Self::AfterSilence(Duration::from_mins(15))
    }
}

/// A bool, or a duration.
struct TakeOverKind;

impl Kind for TakeOverKind {
    type Of = TakeOver;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<TakeOver> {
        match section.value(key)?.get_ref().as_bool() {
            Some(true) => Some(TakeOver::AtOnce),
            Some(false) => Some(TakeOver::Never),
            None => section.duration(key, report).map(TakeOver::AfterSilence),
        }
    }

    fn shown(&self, value: &TakeOver) -> Option<String> {
        match value {
            TakeOver::Never => Some("false".to_owned()),
            TakeOver::AtOnce => Some("true".to_owned()),
            TakeOver::AfterSilence(silence) => Time::ANY.shown(silence),
        }
    }

    fn takes(&self) -> String {
        "a duration, three times heartbeat at least; true: at once; false: never".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::AnyOf(vec![Schema::Bool, Schema::DURATION])
    }
}

/// A bool, or `auto`.
struct LeaseKind;

impl Kind for LeaseKind {
    type Of = LeaseMode;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<LeaseMode> {
        match section.value(key)?.get_ref().as_bool() {
            Some(true) => return Some(LeaseMode::Always),
            Some(false) => return Some(LeaseMode::Never),
            None => {}
        }
        let word = section.string(key, report)?;
        if word.text != "auto" {
            report.error(word.at, format!("{key:?} takes {}, not {:?}", self.takes(), word.text));
            return None;
        }
        Some(LeaseMode::Auto)
    }

    fn shown(&self, value: &LeaseMode) -> Option<String> {
        Some(match value {
            LeaseMode::Auto => quoted("auto"),
            LeaseMode::Always => "true".to_owned(),
            LeaseMode::Never => "false".to_owned(),
        })
    }

    fn takes(&self) -> String {
        "true, false or \"auto\"".to_owned()
    }

    fn schema(&self) -> Schema {
        Schema::AnyOf(vec![Schema::Bool, Schema::Words(vec!["auto"])])
    }
}
