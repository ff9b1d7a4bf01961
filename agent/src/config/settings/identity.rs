//! `[identity]` of the config: the agent's identity on the API server.

use std::{path::PathBuf, time::Duration};

use nodewell_rules::document::{Report, Section};

use super::path;
use crate::config::IdentityConfig;

/// Where the root oneshot puts what the agent may read.
const FOLDER: &str = "/run/nodewell/identity";
/// A quarter: renewals are a handful a year and node, and a lost one does not live for long.
const DEFAULT_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// The API server refuses requests below it (`spec.expirationSeconds`).
const SHORTEST_LIFETIME: Duration = Duration::from_mins(10);

/// The identity that the agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdentityMode {
    /// Its own if it was enrolled, else the kubelet's.
    #[default]
    Auto,
    /// The kubelet's.
    Kubelet,
    /// Its own; the kubelet's until it has one.
    Enroll,
    /// Only what `kubeconfig` names.
    None,
}

impl IdentityMode {
    const CHOICES: [(&str, Self); 4] =
        [("auto", Self::Auto), ("kubelet", Self::Kubelet), ("enroll", Self::Enroll), ("none", Self::None)];
}

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IdentitySettings {
    pub mode: Option<IdentityMode>,
    pub kubelet_kubeconfig: Option<PathBuf>,
    pub bootstrap_kubeconfig: Option<PathBuf>,
    pub certificate_lifetime: Option<Duration>,
    pub folder: Option<PathBuf>,
}

const KEYS: &[&str] = &["mode", "kubelet-kubeconfig", "bootstrap-kubeconfig", "certificate-lifetime", "folder"];

pub(super) fn read(file: Section<'_>, report: &mut Report<'_>) -> IdentitySettings {
    let Some(table) = file.table("identity", report) else { return IdentitySettings::default() };
    let section = Section::new("[identity]", table, KEYS, report);
    let settings = IdentitySettings {
        mode: section.choice("mode", &IdentityMode::CHOICES, report),
        kubelet_kubeconfig: path(section, "kubelet-kubeconfig", report),
        bootstrap_kubeconfig: path(section, "bootstrap-kubeconfig", report),
        certificate_lifetime: section.duration("certificate-lifetime", report),
        folder: path(section, "folder", report),
    };
    if settings.certificate_lifetime.is_some_and(|lifetime| lifetime < SHORTEST_LIFETIME) {
        let at = section.position("certificate-lifetime");
        report.error(at, "\"certificate-lifetime\" below 10m is refused by every API server; use \"90d\"");
    }
    settings
}

impl IdentitySettings {
    pub(super) fn merged(self, later: Self) -> Self {
        Self {
            mode: later.mode.or(self.mode),
            kubelet_kubeconfig: later.kubelet_kubeconfig.or(self.kubelet_kubeconfig),
            bootstrap_kubeconfig: later.bootstrap_kubeconfig.or(self.bootstrap_kubeconfig),
            certificate_lifetime: later.certificate_lifetime.or(self.certificate_lifetime),
            folder: later.folder.or(self.folder),
        }
    }

    pub(in crate::config) fn resolved(self) -> IdentityConfig {
        IdentityConfig {
            mode: self.mode.unwrap_or_default(),
            kubelet_kubeconfig: self.kubelet_kubeconfig,
            bootstrap_kubeconfig: self.bootstrap_kubeconfig,
            certificate_lifetime: self.certificate_lifetime.unwrap_or(DEFAULT_LIFETIME),
            folder: self.folder.unwrap_or_else(|| FOLDER.into()),
        }
    }
}
