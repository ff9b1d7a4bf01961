//! Which API server, and as whom: kubectl's own rules for kubeconfigs, and errors that say what to do.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use kube::{
    Config,
    config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use nodewell_remediation::api::NAMESPACE;

const HEADING: &str = "Options of every command";
const VARIABLE: &str = "KUBECONFIG";

/// What is asked, and where nodewell's objects are in it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The kubeconfig to use [default: those of KUBECONFIG, else ~/.kube/config]
    #[arg(long, global = true, value_name = "FILE", help_heading = HEADING)]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use [default: its current one]
    #[arg(long, global = true, value_name = "NAME", help_heading = HEADING)]
    context: Option<String>,
    /// Where the agents' Leases are
    #[arg(long, short, global = true, value_name = "NAME", default_value = NAMESPACE, help_heading = HEADING)]
    pub(crate) namespace: String,
}

/// Why there is no way to an API server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccessError {
    #[error("there is no kubeconfig: {0}; name one by --kubeconfig FILE, or in the variable KUBECONFIG")]
    Missing(String),
    #[error("{place}: cannot be read as a kubeconfig: {source}; `kubectl config view` shows what kubectl makes of it")]
    Unreadable { place: String, source: KubeconfigError },
    #[error("no context is chosen; run `kubectl config use-context NAME`, or name one by --context: {known}")]
    NoContext { known: String },
    #[error("there is no context {name:?} in the kubeconfig; there are: {known}")]
    UnknownContext { name: String, known: String },
    #[error("the kubeconfig cannot be used: {0}; `kubectl config view` shows it")]
    Unusable(KubeconfigError),
    #[error(
        "the cluster of this context is behind the proxy {0}, and this program speaks to no proxy; run `kubectl proxy` \
         and name a kubeconfig whose server is http://127.0.0.1:8001"
    )]
    Proxy(String),
    #[error("there is no kubeconfig, and the service account of this pod cannot be used: {0}")]
    Pod(InClusterError),
    #[error("the kubeconfig's credentials cannot be used: {0}; see whether `kubectl get nodes` works")]
    Credentials(kube::Error),
}

impl Target {
    /// What the kubeconfig names; in a pod without one, its service account.
    pub(super) async fn config(&self) -> Result<Config, AccessError> {
        let read = match self.read() {
            Err(AccessError::Missing(_)) if self.is_open() && env::var_os("KUBERNETES_SERVICE_HOST").is_some() => {
                return Config::incluster().map_err(AccessError::Pod);
            }
            read => read?,
        };
        if let Some(proxy) = self.proxy(&read) {
            return Err(AccessError::Proxy(proxy));
        }
        let known = contexts(&read);
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(read, &options).await.map_err(|error| match error {
            KubeconfigError::CurrentContextNotSet => AccessError::NoContext { known },
            KubeconfigError::LoadContext(name) => AccessError::UnknownContext { name, known },
            error => AccessError::Unusable(error),
        });
        // One of the environment (HTTPS_PROXY) is for other servers.
        config.map(|mut config| {
            config.proxy_url = None;
            config
        })
    }

    /// The proxy that the kubeconfig names for the cluster of this context.
    fn proxy(&self, kubeconfig: &Kubeconfig) -> Option<String> {
        let name = self.context.as_ref().or(kubeconfig.current_context.as_ref())?;
        let context = kubeconfig.contexts.iter().find(|one| one.name == *name)?.context.as_ref()?;
        let cluster = kubeconfig.clusters.iter().find(|one| one.name == context.cluster)?.cluster.as_ref()?;
        cluster.proxy_url.clone().filter(|proxy| !proxy.is_empty())
    }

    /// Whether the caller leaves it to the place where this runs.
    fn is_open(&self) -> bool {
        self.kubeconfig.is_none() && self.context.is_none()
    }

    fn read(&self) -> Result<Kubeconfig, AccessError> {
        if let Some(file) = &self.kubeconfig {
            return read(file);
        }
        let listed = env::var_os(VARIABLE).unwrap_or_default();
        let files: Vec<PathBuf> = env::split_paths(&listed).filter(|file| !file.as_os_str().is_empty()).collect();
        if files.is_empty() {
            return read(&env::home_dir().unwrap_or_default().join(".kube/config"));
        }
        // Of several files kubectl leaves out those that are not there.
        let there: Vec<&PathBuf> = files.iter().filter(|file| file.exists()).collect();
        if there.is_empty() {
            return Err(AccessError::Missing(format!("{VARIABLE} names {}, which is not there", listed.display())));
        }
        there.into_iter().try_fold(Kubeconfig::default(), |merged, file| {
            let place = file.display().to_string();
            merged.merge(read(file)?).map_err(|source| AccessError::Unreadable { place, source })
        })
    }
}

fn read(file: &Path) -> Result<Kubeconfig, AccessError> {
    let place = file.display().to_string();
    Kubeconfig::read_from(file).map_err(|source| match source {
        KubeconfigError::ReadConfig(error, _) if error.kind() == std::io::ErrorKind::NotFound => {
            AccessError::Missing(format!("{place} is not there"))
        }
        source => AccessError::Unreadable { place, source },
    })
}

fn contexts(kubeconfig: &Kubeconfig) -> String {
    let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(file: &Path, context: Option<&str>) -> Target {
        let context = context.map(str::to_owned);
        Target { kubeconfig: Some(file.to_owned()), context, namespace: NAMESPACE.to_owned() }
    }

    fn error(text: &str, context: Option<&str>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, text).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(target(&file, context).config()).unwrap_err().to_string()
    }

    const TWO: &str = r#"{ "apiVersion": "v1", "kind": "Config",
        "clusters": [{ "name": "c", "cluster": { "server": "https://10.0.0.1:6443" } }],
        "contexts": [{ "name": "east", "context": { "cluster": "c", "user": "u" } },
            { "name": "west", "context": { "cluster": "nowhere", "user": "u" } }] }"#;

    #[test]
    fn each_error_says_what_to_do() {
        let nothing = target(Path::new("/nonexistent/config"), None).read().unwrap_err().to_string();
        assert!(nothing.contains("/nonexistent/config is not there; name one by --kubeconfig FILE"), "{nothing}");
        let none = error(TWO, None);
        assert!(none.contains("no context is chosen") && none.contains("--context: east, west"), "{none}");
        let unknown = error(TWO, Some("north"));
        assert!(unknown.contains("there is no context \"north\"") && unknown.ends_with("east, west"), "{unknown}");
        let broken = error(TWO, Some("west"));
        assert!(broken.contains("cannot be used") && broken.contains("kubectl config view"), "{broken}");
        assert!(error("a: [", None).contains("cannot be read as a kubeconfig"));
        let behind = TWO.replace("6443\"", "6443\", \"proxy-url\": \"http://proxy:3128\"");
        assert!(error(&behind, Some("east")).contains("behind the proxy http://proxy:3128"), "{behind}");
    }

    #[test]
    fn a_context_is_taken_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, TWO).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let config = runtime.block_on(target(&file, Some("east")).config()).unwrap();
        assert_eq!(config.cluster_url.to_string(), "https://10.0.0.1:6443/");
    }
}
