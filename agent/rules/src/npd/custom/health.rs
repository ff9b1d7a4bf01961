//! A health-checker becomes a check of our own: no crictl, docker, journalctl or systemctl is run for it.

use std::{path::PathBuf, time::Duration};

use super::{
    super::{json::Text, translate_re2},
    flags::{Flags, Known},
};
use crate::{
    pattern,
    plugin::{Component, HealthChecker, LogPattern},
    report::Report,
    rule::Format,
};

const KNOWN: Known<'_> = Known {
    program: "health-checker",
    values: &[
        "component",
        "service",
        "systemd-service",
        "crictl-path",
        "cri-ctl-path",
        "cri-socket-path",
        "cri-timeout",
        "cooldown-time",
        "loopback-time",
        "health-check-timeout",
        "log-pattern",
    ],
    switches: &["enable-repair"],
};

/// Its own defaults.
const CRI_SOCKET: &str = "/var/run/containerd/containerd.sock";
const CRI_TIMEOUT: Duration = Duration::from_secs(2);
const COOLDOWN: Duration = Duration::from_secs(120);
const TIMEOUT: Duration = Duration::from_secs(10);
const MOST_COUNTED: u32 = 10_000;

/// What the command line asks for; `None` after an error.
pub(super) fn read(args: &[Text], at: usize, report: &mut Report<'_>) -> Option<HealthChecker> {
    let before = report.count();
    let flags = Flags::read(args, &KNOWN, report);
    let component = component(&flags, report);
    let checker = HealthChecker {
        component,
        unit: unit(&flags, component),
        repair: flags.switch("enable-repair", report).unwrap_or(true),
        cri_socket: socket(&flags, report),
        cri_timeout: flags.duration("cri-timeout", report).unwrap_or(CRI_TIMEOUT),
        cooldown: flags.duration("cooldown-time", report).unwrap_or(COOLDOWN),
        loopback: flags.duration("loopback-time", report).unwrap_or_default(),
        timeout: flags.duration("health-check-timeout", report).filter(|time| !time.is_zero()).unwrap_or(TIMEOUT),
        log_patterns: log_patterns(&flags, report),
    };
    note(&checker, at, report);
    (report.count() == before).then_some(checker)
}

fn note(checker: &HealthChecker, at: usize, report: &mut Report<'_>) {
    let component = checker.component.as_str();
    report.note(at, format!("health-checker is not run: {component} is looked at by a check of our own"));
    if checker.repair {
        report.note(at, "--enable-repair: a unit is repaired only if [repair] in nodewell.toml allows it, too");
    }
}

fn component(flags: &Flags<'_>, report: &mut Report<'_>) -> Component {
    let Some(flag) = flags.text("component") else { return Component::Kubelet };
    // Not a name of theirs, but what its users write.
    let word = if flag.text == "containerd" { "cri" } else { &flag.text };
    let known = Component::ALL.into_iter().find(|component| component.as_str() == word);
    known.unwrap_or_else(|| {
        let shown = nodewell_model::text::cut(&flag.text, 64);
        report.error(flag.at, format!("--component takes kubelet, kube-proxy, docker or cri, not {shown:?}"));
        Component::Kubelet
    })
}

fn unit(flags: &Flags<'_>, component: Component) -> String {
    let flag = flags.text("service").or_else(|| flags.text("systemd-service")).map(|flag| flag.text.as_str());
    let name = flag.unwrap_or(match component {
        Component::Cri => "containerd",
        other => other.as_str(),
    });
    if name.contains('.') { name.to_owned() } else { format!("{name}.service") }
}

fn socket(flags: &Flags<'_>, report: &mut Report<'_>) -> PathBuf {
    let Some(flag) = flags.text("cri-socket-path") else { return CRI_SOCKET.into() };
    let path = flag.text.strip_prefix("unix://").unwrap_or(&flag.text);
    if !path.starts_with('/') {
        report.error(flag.at, "--cri-socket-path takes an absolute path, or unix:// and one");
    }
    path.into()
}

/// `COUNT:PATTERN[,COUNT:PATTERN…]`, as its flag is split.
fn log_patterns(flags: &Flags<'_>, report: &mut Report<'_>) -> Vec<LogPattern> {
    let items: Vec<(&str, usize)> =
        flags.all("log-pattern").flat_map(|flag| flag.text.split(',').map(move |item| (item, flag.at))).collect();
    items.into_iter().filter_map(|(item, at)| log_pattern(item, at, report)).collect()
}

fn log_pattern(item: &str, at: usize, report: &mut Report<'_>) -> Option<LogPattern> {
    let parts = item.split_once(':').filter(|(_, pattern)| !pattern.is_empty());
    let count = parts.and_then(|(count, _)| count.parse().ok()).filter(|count| (1..=MOST_COUNTED).contains(count));
    let Some((count, (_, text))) = count.zip(parts) else {
        report.error(at, "--log-pattern takes COUNT:PATTERN, such as 10:PLEG is not healthy");
        return None;
    };
    let translated = pattern::parse(Format::Npd, text).and_then(|_| translate_re2(text));
    let found = translated.inspect_err(|error| report.error(at, format!("invalid regex in --log-pattern: {error}")));
    Some(LogPattern { count, pattern: found.ok()? })
}
