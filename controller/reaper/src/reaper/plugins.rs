//! The providers' plug-ins: programs, in folders or by their own names, each for the nodes of one type.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use nodewell_power::{provider::Provider, runner::Runner};
use nodewell_remediation::facts::Node;

/// Where administrators put plug-ins of providers.
pub const PLUGINS: &str = "/usr/libexec/nodewell/reapers";
/// How long a plug-in's machine may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(600);
const ANY_EXECUTE: u32 = 0o111;

/// What the controller is not started with.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error("[fencing] plugins: {0}: {1}")]
    Unreadable(PathBuf, io::Error),
    #[error(
        "two plug-ins are of type {kind:?}, {first} and {second}, and one machine is reaped by one only; take one \
         of them away"
    )]
    Twice { kind: String, first: PathBuf, second: PathBuf },
}

/// Those that may be run and printed their type.
#[derive(Debug, Clone, Default)]
pub struct Plugins {
    by_kind: BTreeMap<String, Provider>,
}

impl Plugins {
    /// Asks each program of `paths` for its type. One that may not be run, or does not print it, is logged and left
    /// out: nothing is ever done with it.
    ///
    /// # Errors
    /// A path that is configured and not there; two plug-ins of one type.
    pub async fn load(paths: &[PathBuf], runner: &Runner) -> Result<Self, Unfit> {
        let mut plugins = Self::default();
        for path in programs(paths)? {
            let provider = Provider { path, gone_within: GONE_WITHIN };
            match provider.kind(runner).await {
                Ok(kind) => plugins.add(kind, provider)?,
                Err(error) => tracing::error!(path = %provider.path.display(), error, "this plug-in is left out"),
            }
        }
        Ok(plugins)
    }

    fn add(&mut self, kind: String, provider: Provider) -> Result<(), Unfit> {
        tracing::info!(kind, path = %provider.path.display(), "a plug-in reaps machines");
        match self.by_kind.entry(kind) {
            Entry::Vacant(entry) => {
                entry.insert(provider);
                Ok(())
            }
            Entry::Occupied(first) => {
                Err(Unfit::Twice { kind: first.key().clone(), first: first.get().path.clone(), second: provider.path })
            }
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_kind.is_empty()
    }

    /// The one for this node, by what its providerID begins with.
    ///
    /// # Errors
    /// There is none: why, and what there is.
    pub fn of(&self, node: &Node) -> Result<&Provider, String> {
        let known: Vec<&str> = self.by_kind.keys().map(String::as_str).collect();
        let kind = provider(&node.provider_id)
            .ok_or_else(|| format!("Node {} has no spec.providerID, so no plug-in is for it", node.name))?;
        self.by_kind.get(kind).ok_or_else(|| {
            format!("no plug-in is of type {kind:?}, as Node {}'s providerID begins; there are {known:?}", node.name)
        })
    }
}

/// The cloud provider of a node, whose program deletes the machine: its providerID up to the first colon. Nothing where
/// there is none.
fn provider(provider_id: &str) -> Option<&str> {
    provider_id.split(':').next().filter(|provider| !provider.is_empty())
}

/// In the order of their names; commas part what is named in one argument, as node-reaper's `-plugin` has it.
fn programs(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Unfit> {
    let mut found = Vec::new();
    for path in paths.iter().flat_map(|path| parts(path)) {
        let unreadable = |error| Unfit::Unreadable(path.clone(), error);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => found.extend(inside(&path).map_err(unreadable)?),
            Ok(_) => found.push(path),
            // No administrator has to have one.
            Err(error) if error.kind() == io::ErrorKind::NotFound && path == Path::new(PLUGINS) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn parts(path: &Path) -> Vec<PathBuf> {
    let whole = path.to_string_lossy();
    let parts = whole.split(',').map(str::trim).filter(|part| !part.is_empty());
    if path.exists() { vec![path.to_owned()] } else { parts.map(PathBuf::from).collect() }
}

/// What can be executed; a README beside it is none.
fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let runs = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.permissions().mode() & ANY_EXECUTE != 0);
        if runs && !hidden {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &Path, mode: u32) -> PathBuf {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_owned()
    }

    #[test]
    fn programs_are_found_in_folders_by_name_and_in_lists_with_commas() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let (aws, gce) = (file(&inside.join("aws"), 0o755), file(&folder.path().join("gce"), 0o755));
        file(&inside.join("README"), 0o644);
        file(&inside.join(".aws.swp"), 0o755);
        let list = PathBuf::from(format!("{}, {}", inside.display(), gce.display()));
        assert_eq!(programs(&[list]).unwrap(), [gce.clone(), aws.clone()]);
        assert_eq!(programs(&[inside, gce.clone(), gce.clone()]).unwrap(), [gce, aws]);
        assert!(programs(&[PLUGINS.into()]).is_ok());
        let error = programs(&[folder.path().join("no")]).unwrap_err().to_string();
        assert!(error.contains("[fencing] plugins") && error.contains("/no"), "{error}");
    }

    #[test]
    fn the_provider_is_what_stands_before_the_colon() {
        assert_eq!(provider("aws:///us-west-2a/i-1"), Some("aws"));
        assert_eq!(provider(""), None);
        assert_eq!(provider("://x"), None);
    }
}
