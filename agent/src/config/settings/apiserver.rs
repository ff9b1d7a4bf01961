//! `[apiserver]`: what goes to the API server, and how often.

use std::time::Duration;

use nodewell_rules::document::{Report, Section};

use super::Settings;
use crate::config::{LeaseMode, TakeOver};

const KEYS: &[&str] = &["event-namespace", "heartbeat", "take-over", "lease", "lease-renew"];

pub(super) fn read(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    let Some(table) = file.table("apiserver", report) else { return };
    let section = Section::new("[apiserver]", table, KEYS, report);
    settings.event_namespace = event_namespace(section, report);
    settings.heartbeat = heartbeat(section, report);
    settings.take_over = take_over(section, settings.heartbeat, report);
    settings.lease = lease(section, report);
    settings.lease_renew = lease_renew(section, report);
}

const DEFAULT_HEARTBEAT: Duration = Duration::from_mins(5);

fn event_namespace(section: Section<'_>, report: &mut Report<'_>) -> Option<String> {
    let word = section.string("event-namespace", report)?;
    if word.text != "default" && word.text != "kube-system" {
        report.error(word.at, "\"event-namespace\" takes \"default\" or \"kube-system\": the API server refuses Events about Nodes elsewhere");
    }
    Some(word.text.to_owned())
}

fn heartbeat(section: Section<'_>, report: &mut Report<'_>) -> Option<Duration> {
    let heartbeat = section.duration("heartbeat", report)?;
    let at = section.position("heartbeat");
    if heartbeat < Duration::from_secs(10) {
        report.error(at, "\"heartbeat\" below 10s would load the API server; use \"5m\", as the kubelet does");
    }
    if heartbeat > Duration::from_mins(5) {
        report.error(at, "\"heartbeat\" takes at most 5m: without a Lease, 15 minutes of silence count as death");
    }
    Some(heartbeat)
}

/// A bool, or a duration.
fn take_over(section: Section<'_>, heartbeat: Option<Duration>, report: &mut Report<'_>) -> Option<TakeOver> {
    if section.value("take-over").is_some_and(|value| value.get_ref().as_bool().is_some()) {
        let wanted = section.boolean("take-over", report)?;
        return Some(if wanted { TakeOver::AtOnce } else { TakeOver::Never });
    }
    let silence = section.duration("take-over", report)?;
    let shortest = heartbeat.unwrap_or(DEFAULT_HEARTBEAT).saturating_mul(3);
    if silence < shortest {
        let at = section.position("take-over");
        report.error(at, "\"take-over\" takes three times \"heartbeat\" or more: the other writer is looked at so often; true: at once; false: never");
    }
    Some(TakeOver::AfterSilence(silence))
}

/// A bool, or `auto`.
fn lease(section: Section<'_>, report: &mut Report<'_>) -> Option<LeaseMode> {
    if section.value("lease").is_some_and(|value| value.get_ref().as_bool().is_some()) {
        let wanted = section.boolean("lease", report)?;
        return Some(if wanted { LeaseMode::Always } else { LeaseMode::Never });
    }
    let word = section.string("lease", report)?;
    if word.text != "auto" {
        report.error(word.at, format!("\"lease\" takes true, false or \"auto\", not {:?}", word.text));
        return None;
    }
    Some(LeaseMode::Auto)
}

fn lease_renew(section: Section<'_>, report: &mut Report<'_>) -> Option<Duration> {
    let renew = section.duration("lease-renew", report)?;
    if !(Duration::from_secs(10)..=Duration::from_mins(1)).contains(&renew) {
        let at = section.position("lease-renew");
        report.error(at, "\"lease-renew\" takes 10s to 1m; the Lease runs out after four times as long");
    }
    Some(renew)
}
