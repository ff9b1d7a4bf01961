//! The kubeconfig and the files it names: read once into memory, and watched for changes.

use std::path::Path;

use super::{answer::RequestError, client_factory::ClientFactory, resolver::Resolver};
use crate::identity::{Credentials, Files, Kubeconfig, YamlReader, stamps};

/// Reads the kubeconfig and what it names, and builds what clients are made of; the files are known even where nothing
/// comes of them.
pub(super) fn open(path: &Path, resolver: Resolver) -> (Files, Result<ClientFactory, RequestError>) {
    // The stamps come first: a change while we read is then seen by the next look.
    let mut files = stamps([path.to_owned()]);
    let read = Kubeconfig::read(path, &YamlReader::beside_us());
    files.extend(stamps(read.iter().flat_map(Kubeconfig::named_files)));
    let unusable = |why: String| RequestError::Credentials(why);
    let opened = read
        .map_err(|error| unusable(format!("{}: {error}", path.display())))
        .and_then(|kubeconfig| client_factory(path, &kubeconfig, resolver).map_err(unusable));
    (files, opened)
}

fn client_factory(path: &Path, kubeconfig: &Kubeconfig, resolver: Resolver) -> Result<ClientFactory, String> {
    let credentials = Credentials::without_plugin(path, kubeconfig).map_err(|error| error.to_string())?;
    ClientFactory::new(&credentials, resolver).map_err(|error| format!("{}: {error}", path.display()))
}
