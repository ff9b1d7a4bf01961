//! Text is not proof: what the host shows of a finding before the ledger may believe it.

use std::path::PathBuf;

use nodewell_checks::probe::ReadError;
use nodewell_faults::message;
use nodewell_model::{Finding, Name, RequiredProof};

use crate::detectors::{cgroup, mounts, pod_names::KnownPodNames};

/// Where the host is looked at; tests build fake trees.
#[derive(Debug, Clone)]
pub struct HostRoots {
    pub proc: PathBuf,
    pub sys: PathBuf,
    pub dev: PathBuf,
    pub run: PathBuf,
    /// The kubelet's directory: what is mounted below its `pods` and `plugins` belongs to pods.
    pub kubelet: PathBuf,
}

impl Default for HostRoots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
            run: "/run".into(),
            kubelet: "/var/lib/kubelet".into(),
        }
    }
}

/// Judges findings with a required proof against the host.
#[derive(Debug, Clone)]
pub struct Prover {
    roots: HostRoots,
    pod_names: KnownPodNames,
    volume_unhealthy: Name,
}

impl Prover {
    #[must_use]
    pub fn new(roots: HostRoots, pod_names: KnownPodNames) -> Self {
        Self { roots, pod_names, volume_unhealthy: Name::fixed("VolumeUnhealthy") }
    }

    /// The finding as the host confirms it; `None` if what it claims could not be proven.
    #[must_use]
    pub fn prove(&self, mut finding: Finding) -> Option<Finding> {
        match std::mem::take(&mut finding.required_proof) {
            RequiredProof::None => Some(finding),
            RequiredProof::NodePlumbing { pid } => self.is_plumbing(pid).then_some(finding),
            RequiredProof::Filesystem { device } => {
                if finding.condition.is_some() && self.is_only_a_volume(&device) {
                    finding.condition = Some(self.volume_unhealthy.clone());
                }
                Some(finding)
            }
            RequiredProof::Pod { uid } => {
                self.name_pod(&mut finding, uid.clone());
                // The name may be another one, or none, when the record is read again.
                finding.required_proof = RequiredProof::Pod { uid };
                Some(finding)
            }
        }
    }

    /// The pod is the subject, so that kills of two pods are two Events, whatever their processes are called.
    fn name_pod(&self, finding: &mut Finding, uid: String) {
        let (before, newest) = finding.message.rsplit_once('\n').unwrap_or(("", &finding.message));
        // The newest line has what happened; those before it have the cgroups.
        let lines = if before.is_empty() { newest.to_owned() } else { format!("{newest}; {before}") };
        let name = self.pod_names.name(&uid);
        finding.message = match &name {
            Some(pod) => message("OOMKilling/pod", &[("pod", pod), ("uid", &uid), ("lines", &lines)]),
            None => message("OOMKilling/uid", &[("uid", &uid), ("lines", &lines)]),
        };
        finding.subject = Some(name.unwrap_or(uid));
    }

    fn is_plumbing(&self, pid: u32) -> bool {
        cgroup::is_node_plumbing(&self.roots.proc, pid).unwrap_or_else(|error| {
            tracing::warn!(pid, %error, "cannot read a process's cgroup; whose task hung stays unproven");
            false
        })
    }

    /// Mounted, and nowhere but below the kubelet's pods and plugins. What is not mounted proves nothing, nor does what
    /// cannot be read.
    fn is_only_a_volume(&self, device: &str) -> bool {
        let is_volume = mounts::read(&self.roots.proc).and_then(|mounts| self.is_volume(&mounts, device));
        is_volume.unwrap_or_else(|error| {
            tracing::warn!(device, %error, "cannot read where a device is mounted; it counts as the node's");
            false
        })
    }

    fn is_volume(&self, mounts: &[mounts::Mount], device: &str) -> Result<bool, ReadError> {
        let of_device = mounts::of_device(mounts, &self.roots, device)?;
        let pods = [self.roots.kubelet.join("pods"), self.roots.kubelet.join("plugins")];
        let is_volume =
            |mount: &&mounts::Mount| pods.iter().any(|pods| std::path::Path::new(&mount.mount_point).starts_with(pods));
        Ok(!of_device.is_empty() && of_device.iter().all(is_volume))
    }
}

#[cfg(test)]
mod tests;
