//! Which kubeconfig the agent goes by: the one it was told, the one that root left for it, or the kubelet's own.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::time::sleep;

use super::kubelet;
use crate::config::{Config, IdentityMode};

/// Its name in the identity's folder.
pub const KUBECONFIG: &str = "kubeconfig";
/// How often a machine without credentials looks for some; it costs a handful of failing opens.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Where the agent's kubeconfig is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// None is wanted.
    Standalone,
    /// The configuration names it.
    Told(PathBuf),
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
            (Some(told), _) => Self::Told(told.clone()),
            (None, IdentityMode::None) => Self::Standalone,
            (None, _) => {
                let kubelets = kubelet::places(root, config.identity.kubelet_kubeconfig.as_deref());
                Self::Looked([config.identity.folder.join(KUBECONFIG)].into_iter().chain(kubelets).collect())
            }
        }
    }

    /// The kubeconfig as things stand.
    #[must_use]
    pub fn now(&self) -> Option<PathBuf> {
        match self {
            Self::Standalone => None,
            Self::Told(path) => Some(path.clone()),
            Self::Looked(places) => places.iter().find(|path| File::open(path).is_ok()).cloned(),
        }
    }

    /// Waits until there is one: forever, if none is wanted.
    pub async fn found(&self) -> PathBuf {
        loop {
            match self.now() {
                Some(path) => return path,
                None if *self == Self::Standalone => std::future::pending().await,
                None => sleep(LOOK_EVERY).await,
            }
        }
    }
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
    fn what_was_told_comes_first_and_standalone_before_all() {
        let root = tempfile::tempdir().unwrap();
        let told = Config { kubeconfig: Some("/k".into()), ..config(root.path()) };
        assert_eq!(Way::of(&told), Way::Told("/k".into()));
        assert_eq!(Way::of(&Config { standalone: true, ..told }), Way::Standalone);
        let mut none = config(root.path());
        none.identity.mode = IdentityMode::None;
        assert_eq!(Way::of(&none), Way::Standalone);
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
        fs::write(&kubelets, "").unwrap();
        assert_eq!(waiting.await.unwrap(), kubelets);
        fs::create_dir(root.path().join("identity")).unwrap();
        fs::write(root.path().join("identity/kubeconfig"), "").unwrap();
        assert_eq!(way.now(), Some(root.path().join("identity/kubeconfig")));
    }
}
