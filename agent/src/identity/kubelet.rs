//! The kubelet's credentials: the first that can be used of where distributions store them.

use std::path::{Path, PathBuf};

use super::credentials::{Credentials, CredentialsError};
use crate::config::kubelet_kubeconfigs;

/// The kubelet's credentials, and where they were.
#[derive(Debug)]
pub struct Found {
    pub path: PathBuf,
    pub credentials: Credentials,
}

/// The first credentials that can be used. A file that cannot be used is an error only if no other can, and the first
/// such one is reported; `None` if there is none at all.
pub async fn find(root: &Path, named: Option<&Path>) -> Result<Option<Found>, CredentialsError> {
    let mut first_error = None;
    for path in kubelet_kubeconfigs(root, named) {
        match Credentials::read(&path).await {
            Ok(credentials) => return Ok(Some(Found { path, credentials })),
            Err(error) if error.is_absence() && named.is_none() => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or(Ok(None), Err)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::KUBECONFIGS;

    fn kubeconfig(user: &str) -> String {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{{"name": "c", "cluster": {{"server": "https://h"}}}}],
            "users": [{{"name": "u", "user": {user}}}],
            "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}]}}"#
        )
    }

    fn put(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[tokio::test]
    async fn every_distribution_is_found() {
        for (distribution, path) in KUBECONFIGS {
            let root = tempfile::tempdir().unwrap();
            put(root.path(), path, &kubeconfig(r#"{"token": "t"}"#));
            let found = find(root.path(), None).await.unwrap().expect(distribution);
            assert_eq!(found.path, root.path().join(path));
            assert_eq!(found.credentials.secret.token.as_deref(), Some("t"));
        }
    }

    #[tokio::test]
    async fn a_machine_without_a_kubelet_is_no_error() {
        let root = tempfile::tempdir().unwrap();
        assert!(find(root.path(), None).await.unwrap().is_none());
        let named = root.path().join("kubelet.conf");
        assert!(find(root.path(), Some(&named)).await.is_err(), "one that was named must be there");
    }

    #[tokio::test]
    async fn what_a_former_distribution_left_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        put(
            root.path(),
            "etc/kubernetes/kubelet.conf",
            &kubeconfig(r#"{"client-certificate": "/gone", "client-key": "/gone"}"#),
        );
        let error = find(root.path(), None).await.unwrap_err().to_string();
        assert!(error.contains("kubelet.conf") && error.contains("/gone"), "{error}");
        put(root.path(), "var/lib/k0s/kubelet.conf", &kubeconfig(r#"{"token": "k0s"}"#));
        let found = find(root.path(), None).await.unwrap().unwrap();
        assert_eq!(found.credentials.secret.token.as_deref(), Some("k0s"));
    }
}
