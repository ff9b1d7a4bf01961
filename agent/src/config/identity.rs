//! `[identity]`: the agent's identity on the API server, where no kubeconfig is named.

use std::{path::PathBuf, time::Duration};

use nodewell_settings::{
    Key, Table,
    kind::{Choice, Maybe, Path, Time},
};

/// The API server refuses requests below it (`spec.expirationSeconds`).
const LIFETIMES: Time = Time::ANY.not_below(Duration::from_mins(10), "is refused by every API server; use \"90d\"");

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityConfig {
    pub mode: IdentityMode,
    pub kubelet_kubeconfig: Option<PathBuf>,
    pub bootstrap_kubeconfig: Option<PathBuf>,
    pub certificate_lifetime: Duration,
    pub folder: PathBuf,
}

/// The identity that the agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentityMode {
    /// Its own if it was enrolled, else the kubelet's.
    Auto,
    /// The kubelet's.
    Kubelet,
    /// Its own; the kubelet's until it has one.
    Enroll,
    /// Only what `kubeconfig` names.
    None,
}

const MODES: Choice<IdentityMode> = Choice(&[
    ("auto", IdentityMode::Auto),
    ("kubelet", IdentityMode::Kubelet),
    ("enroll", IdentityMode::Enroll),
    ("none", IdentityMode::None),
]);

impl Table for IdentityConfig {
    const NAME: &'static str = "[identity]";
    const ABOUT: &'static str =
        "Who the agent is to the API server, if no kubeconfig is named; done by nodewell-identity.service.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("mode", |it| &mut it.mode, MODES).help(
                "\"auto\": its own if it was enrolled, else the kubelet's; \"kubelet\": always the kubelet's; \
                 \"enroll\": asks for its own, and is the kubelet until it is there; \"none\": only what kubeconfig \
                 names.",
            ),
            Self::key("kubelet-kubeconfig", |it| &mut it.kubelet_kubeconfig, Maybe(Path))
                .help("The kubelet's; if unset, where distributions store it.")
                .example(r#""/etc/kubernetes/kubelet.conf""#),
            Self::key("bootstrap-kubeconfig", |it| &mut it.bootstrap_kubeconfig, Maybe(Path))
                .help("Asks for certificates in place of the kubelet's.")
                .example(r#""/etc/nodewell/bootstrap.kubeconfig""#),
            Self::key("certificate-lifetime", |it| &mut it.certificate_lifetime, LIFETIMES)
                .help("What is asked for; the cluster's signer may give less."),
            Self::key("folder", |it| &mut it.folder, Path)
                .help("Where nodewell-identity leaves the agent's kubeconfig; another one needs ReadWritePaths= in drop-ins of the units."),
        ]
    }
}

impl Default for IdentityConfig {
    fn default() -> Self {
        Self {
            mode: IdentityMode::Auto,
            kubelet_kubeconfig: None,
            bootstrap_kubeconfig: None,
            // A quarter: renewals are a handful a year and node, and a lost one does not live for long.
            certificate_lifetime: Duration::from_hours(90 * 24),
            // Where the root oneshot puts what the agent may read.
            folder: "/run/nodewell/identity".into(),
        }
    }
}
