//! The kubeconfig and the files it names: read once into memory, and watched for changes.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use super::{client_factory::ClientFactory, resolver::Resolver};
use crate::exporters::apiserver::answer::RequestError;

/// How the kubeconfig and the files it names looked; `None` for one that is not there.
pub(super) type Files = BTreeMap<PathBuf, Option<Stamp>>;

/// A file replaced by another one of the same age and size has another inode.
pub(super) type Stamp = (Option<SystemTime>, u64, u64);

/// Reads the kubeconfig and what it names, and builds what clients are made of; the files are known even where nothing
/// comes of them.
pub(super) fn open(path: &Path, resolver: Resolver) -> (Files, Result<ClientFactory, RequestError>) {
    // The stamps come first: a change while we read is then seen by the next look.
    let named = Kubeconfig::read_from(path).map(|kubeconfig| named_files(&kubeconfig)).unwrap_or_default();
    let files = stamps(named.into_iter().chain([path.to_owned()]));
    let opened =
        client_factory(path, resolver).map_err(|why| RequestError::Credentials(format!("{}: {why}", path.display())));
    (files, opened)
}

fn client_factory(path: &Path, resolver: Resolver) -> Result<ClientFactory, String> {
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| error.to_string())?;
    let options = KubeConfigOptions::default();
    let runtime = tokio::runtime::Handle::current();
    let config = runtime.block_on(Config::from_custom_kubeconfig(kubeconfig, &options));
    let mut config = config.map_err(|error| error.to_string())?;
    if config.proxy_url.is_some() {
        return Err("proxy-url is not supported".to_owned());
    }
    read_token(&mut config)?;
    ClientFactory::new(config, resolver).map_err(|error| error.to_string())
}

/// kube would read the file again and again while requests wait, and our one thread with them; we watch it instead.
fn read_token(config: &mut Config) -> Result<(), String> {
    let Some(file) = config.auth_info.token_file.take() else { return Ok(()) };
    let token = fs::read_to_string(&file).map_err(|error| format!("tokenFile {file}: {error}"))?;
    config.auth_info.token = Some(token.trim().to_owned().into());
    Ok(())
}

pub(super) fn named_files(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let users = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]);
    let clusters = kubeconfig.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref());
    let authorities = clusters.map(|cluster| &cluster.certificate_authority);
    users.chain(authorities).flatten().map(PathBuf::from).collect()
}

pub(super) fn stamps(paths: impl IntoIterator<Item = PathBuf>) -> Files {
    let stamp = |path: &PathBuf| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.modified().ok(), metadata.ino(), metadata.len()))
    };
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}
