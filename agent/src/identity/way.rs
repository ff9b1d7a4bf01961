//! Which kubeconfig the agent goes by: the configured one, the one that root left for it, or the kubelet's own.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{
    kubeconfig::{Kubeconfig, YamlReader},
    regular_file,
};
use crate::{
    config::{Config, IdentityMode, kubelet_kubeconfigs},
    runtime::pace,
};

/// Its name in the identity's folder.
pub const KUBECONFIG: &str = "kubeconfig";
/// How often a machine without credentials looks for some; it costs a handful of failing opens.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often one that has some looks for better ones.
const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(60);

/// Where the agent's kubeconfig is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// None is wanted.
    Standalone,
    /// The configuration names it.
    Configured(PathBuf),
    /// The first of these that can be read.
    Looked(Vec<PathBuf>),
}

impl Way {
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self::below(Path::new("/"), config)
    }

    fn below(root: &Path, config: &Config) -> Self {
        match (&config.kubeconfig, config.identity.mode) {
            _ if config.standalone => Self::Standalone,
            (Some(path), _) => Self::Configured(path.clone()),
            (None, IdentityMode::None) => Self::Standalone,
            (None, _) => {
                let kubelets = kubelet_kubeconfigs(root, config.identity.kubelet_kubeconfig.as_deref());
                Self::Looked([config.identity.folder.join(KUBECONFIG)].into_iter().chain(kubelets).collect())
            }
        }
    }

    /// The kubeconfig as things stand.
    #[must_use]
    pub fn now(&self) -> Option<PathBuf> {
        match self {
            Self::Standalone => None,
            Self::Configured(path) => Some(path.clone()),
            Self::Looked(paths) => paths.iter().find(|path| is_usable(path)).cloned(),
        }
    }

    /// Waits until there is one: forever, if none is wanted.
    pub async fn found(&self) -> PathBuf {
        loop {
            match self.look().await {
                Some(path) => return path,
                None if *self == Self::Standalone => std::future::pending().await,
                None => sleep(LOOK_EVERY).await,
            }
        }
    }

    /// Returns once another kubeconfig than `current` is the one to go by: root has left one meanwhile, most likely.
    pub async fn other_than(&self, current: &Path) {
        if matches!(self, Self::Configured(_)) {
            return std::future::pending().await;
        }
        loop {
            pace::sleep_until(pace::next(Instant::now(), LOOK_AGAIN_EVERY)).await;
            if self.look().await.is_some_and(|path| path != current) {
                return;
            }
        }
    }

    /// [`Self::now`] on a thread of its own: the disks under these paths may hang.
    pub async fn look(&self) -> Option<PathBuf> {
        let way = self.clone();
        spawn_blocking(move || way.now()).await.ok().flatten()
    }
}

/// Whether it and all that its users name can be read by us. Plug-ins are root's to run.
fn is_usable(path: &Path) -> bool {
    let can_be_read = |file: &PathBuf| regular_file::open(file).is_ok();
    let Ok(kubeconfig) = Kubeconfig::read(path, &YamlReader::beside_us()) else { return false };
    let mut users = kubeconfig.users.iter().filter_map(|named| named.user.as_ref());
    users.all(|user| user.exec.is_none() && user.named_files().iter().all(can_be_read))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Flags;

    fn config(folder: &Path) -> Config {
        let mut config = Config::of_flags(&Flags::default());
        config.identity.folder = folder.join("identity");
        config
    }

    #[test]
    fn what_is_configured_comes_first_and_standalone_before_all() {
        let root = tempfile::tempdir().unwrap();
        let named = Config { kubeconfig: Some("/k".into()), ..config(root.path()) };
        assert_eq!(Way::of(&named), Way::Configured("/k".into()));
        assert_eq!(Way::of(&Config { standalone: true, ..named }), Way::Standalone);
        let mut none = config(root.path());
        none.identity.mode = IdentityMode::None;
        assert_eq!(Way::of(&none), Way::Standalone);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_configured_stays() {
        let way = Way::Configured("/k".into());
        assert_eq!(way.found().await, Path::new("/k"));
        let another = tokio::time::timeout(LOOK_AGAIN_EVERY * 3, way.other_than(Path::new("/k"))).await;
        assert!(another.is_err());
    }

    #[test]
    fn a_fifo_is_neither_a_kubeconfig_nor_what_one_names() {
        let root = tempfile::tempdir().unwrap();
        let way = Way::below(root.path(), &config(root.path()));
        let kubelets = root.path().join("etc/kubernetes");
        fs::create_dir_all(&kubelets).unwrap();
        nix::unistd::mkfifo(&kubelets.join("kubelet.conf"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(way.now(), None);
        fs::rename(kubelets.join("kubelet.conf"), kubelets.join("token")).unwrap();
        fs::write(kubelets.join("kubelet.conf"), r#"{"users": [{"name": "a", "user": {"tokenFile": "token"}}]}"#)
            .unwrap();
        assert_eq!(way.now(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_appears_later_is_found_and_roots_folder_is_looked_at_first() {
        let root = tempfile::tempdir().unwrap();
        let way = Way::below(root.path(), &config(root.path()));
        assert_eq!(way.now(), None);
        let waiting = tokio::spawn({
            let way = way.clone();
            async move { way.found().await }
        });
        sleep(LOOK_EVERY * 3).await;
        assert!(!waiting.is_finished());
        let kubelets = root.path().join("etc/kubernetes/kubelet.conf");
        fs::create_dir_all(kubelets.parent().unwrap()).unwrap();
        let text = r#"{"users": [{"name": "a", "user": {"client-key": "missing.pem"}}]}"#;
        fs::write(&kubelets, text).unwrap();
        sleep(LOOK_EVERY * 3).await;
        assert!(!waiting.is_finished(), "a key that we cannot read is none");
        fs::write(&kubelets, "{}").unwrap();
        assert_eq!(waiting.await.unwrap(), kubelets);
        fs::create_dir(root.path().join("identity")).unwrap();
        fs::write(root.path().join("identity/kubeconfig"), "{}").unwrap();
        way.other_than(&kubelets).await;
        assert_eq!(way.now(), Some(root.path().join("identity/kubeconfig")));
    }
}
