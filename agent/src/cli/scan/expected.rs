//! What one look waits for: every reporter of the check processes, until it has looked at all that it watches.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use nodewell_faults::message;
use nodewell_model::view::{DaemonState, DaemonView, NodeView};

use crate::{
    check_process::{Group, Release, ReleaseFile, reporters},
    config::{CheckProcesses, Config, Flags},
};

/// The reporters that the agent of a scan has.
pub(super) struct Expected {
    reporters: Vec<(Group, String)>,
    /// The socket beside which devices are released.
    release_socket: PathBuf,
}

/// What has not looked at all that it watches.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Missing {
    pub(super) name: String,
    /// Why it will not either.
    pub(super) release: Option<Release>,
}

impl Expected {
    /// With a configuration that has errors the agent ends by itself, and reports them.
    pub(super) fn new(config: Option<&Path>, release_socket: &Path) -> Self {
        let flags = Flags { config: config.map(Path::to_owned), ..Flags::default() };
        let reporters = match Config::load(&flags) {
            Ok(config) if config.check_processes != CheckProcesses::None => {
                let rules = nodewell_rules::load(&config.load_plan()).set;
                reporters(&config, rules)
            }
            Ok(_) | Err(_) => Vec::new(),
        };
        Self { reporters, release_socket: release_socket.to_owned() }
    }

    /// Whether the look has to go on: something is to look that has not.
    pub(super) fn is_awaited(&self, view: &NodeView) -> bool {
        view.conditions.is_empty()
            || view.conditions.iter().any(|condition| condition.reason.as_str() == "MonitorStarting")
            || self.missing(view).iter().any(|missing| missing.release.is_none())
    }

    /// Reporters that are not there or have sent no full report, and monitors of the agent's own that start.
    pub(super) fn missing(&self, view: &NodeView) -> Vec<Missing> {
        let is_known = |name: &str| view.daemons.iter().any(|daemon| source(daemon) == name && has_looked(daemon));
        let known = view.daemons.iter().filter(|daemon| !has_looked(daemon)).map(source);
        let expected = self.reporters.iter().map(|(_, name)| name.as_str());
        let names: BTreeSet<&str> = known.chain(expected).filter(|name| !is_known(name)).collect();
        names.into_iter().map(|name| Missing { name: name.to_owned(), release: self.release_of(name) }).collect()
    }

    fn release_of(&self, name: &str) -> Option<Release> {
        let (group, _) = self.reporters.iter().find(|(group, reporter)| group.as_str() == name && reporter == name)?;
        ReleaseFile::of(&self.release_socket, *group).now()
    }
}

/// Every daemon that reports to the agent of a scan is a check process of its own.
fn has_looked(daemon: &DaemonView) -> bool {
    if daemon.is_external() { daemon.full } else { daemon.state != DaemonState::Starting }
}

fn source(daemon: &DaemonView) -> &str {
    daemon.name.split('@').next().unwrap_or_default()
}

/// Shows each of `missing` as what it is: it has not been heard of, or not of all that it watches.
pub(super) fn mark(view: &mut NodeView, missing: &[Missing]) {
    for Missing { name, release } in missing {
        let known = view.daemons.iter().position(|daemon| source(daemon) == name);
        let at = known.unwrap_or_else(|| {
            view.daemons.push(unheard(name));
            view.daemons.len() - 1
        });
        let daemon = &mut view.daemons[at];
        daemon.state = DaemonState::Starting;
        (daemon.reason, daemon.message) = match release {
            Some(release) => ("DevicesReleased".to_owned(), release.to_string()),
            None => ("MonitorStarting".to_owned(), message("MonitorStarting/unreported", &[])),
        };
    }
}

fn unheard(name: &str) -> DaemonView {
    DaemonView {
        name: name.to_owned(),
        state: DaemonState::Starting,
        reason: String::new(),
        message: String::new(),
        records: 0,
        lost: 0,
        ttl_secs: None,
        silent_since: None,
        full: false,
    }
}

/// For people who would take what was not looked at for healthy; a line for each cause.
pub(super) fn warnings(missing: &[Missing]) -> Vec<String> {
    let (released, late): (Vec<&Missing>, Vec<&Missing>) = missing.iter().partition(|one| one.release.is_some());
    let late: Vec<&str> = late.iter().map(|one| one.name.as_str()).collect();
    let late = (!late.is_empty())
        .then(|| format!("not all was looked at in time, so it is unknown: {} (see --timeout)", late.join(", ")));
    let released = released.into_iter().filter_map(|one| Some((&one.name, one.release.as_ref()?)));
    let released = released.map(|(name, release)| format!("not looked at, so it is unknown: {name} is {release}"));
    late.into_iter().chain(released).collect()
}

#[cfg(test)]
mod tests;
