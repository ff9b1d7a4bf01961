//! Which pod a uid is: `namespace/name`, from the kubelet's folders of logs, which are called `NAMESPACE_NAME_UID`. The uid of a
//! static pod is there the hash that its cgroup has, too, and not the one that the API server gave its mirror.

use std::{
    collections::BTreeMap,
    fmt::Write,
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use crate::probe::Roots;

use crate::limits::host;

/// More pods than a kubelet runs by far (110 by default). A folder that holds more entries is read no further.
const ENTRIES_LIMIT: usize = 4096;
/// A namespace is one label of a DNS name, a pod's name is a DNS name (RFC 1123).
const LABEL_LIMIT_BYTES: usize = 63;
const DNS_NAME_LIMIT_BYTES: usize = 253;
/// `UID NAMESPACE/NAME` of every pod, each as long as can be.
pub const TEXT_LIMIT_BYTES: u64 = (ENTRIES_LIMIT * (36 + 1 + LABEL_LIMIT_BYTES + 1 + DNS_NAME_LIMIT_BYTES + 1)) as u64;

/// `namespace/name` by uid.
pub type Names = BTreeMap<String, String>;

/// The names as they were last read, in memory: no look-up waits for a disk. All clones are one.
#[derive(Debug, Clone, Default)]
pub struct PodNames(Arc<RwLock<Names>>);

impl PodNames {
    #[must_use]
    pub fn name(&self, uid: &str) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(uid).cloned()
    }

    /// As an Event calls it: by its name, else by its uid.
    #[must_use]
    pub fn name_or_uid(&self, uid: &str) -> String {
        self.name(uid).unwrap_or_else(|| uid.to_owned())
    }

    pub fn replace(&self, names: Names) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = names;
    }
}

/// Where the kubelet puts the logs of pods, unless its `podLogsDir` is another.
#[must_use]
pub fn folder(roots: &Roots) -> PathBuf {
    host(roots).join("var/log/pods")
}

/// The pods that have a folder in `folder`. What is called otherwise names none, and of two folders with one uid neither does:
/// a pod that may write there must not choose another's name.
pub fn read(folder: &Path) -> io::Result<Names> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for entry in folder.read_dir()?.take(ENTRIES_LIMIT) {
        let entry = entry?;
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if let Some((uid, name)) = entry.file_name().to_str().and_then(pod_of) {
            found.entry(uid).and_modify(|name| *name = None).or_insert(Some(name));
        }
    }
    Ok(found.into_iter().filter_map(|(uid, name)| Some((uid, name?))).collect())
}

/// `names` as [`from_text`] reads them: a line for each pod.
#[must_use]
pub fn to_text(names: &Names) -> String {
    names.iter().fold(String::new(), |mut text, (uid, name)| {
        // A string takes everything.
        let _ = writeln!(text, "{uid} {name}");
        text
    })
}

/// A line that is none of [`to_text`] names no pod.
#[must_use]
pub fn from_text(text: &str) -> Names {
    let pod = |line: &str| {
        let (uid, name) = line.split_once(' ')?;
        let (namespace, name) = name.split_once('/')?;
        named(namespace, name, uid)
    };
    text.lines().filter_map(pod).take(ENTRIES_LIMIT).collect()
}

/// Whether `uid` is a UUID, or a static pod's hash.
#[must_use]
pub fn is_uid(uid: &str) -> bool {
    (32..=36).contains(&uid.len()) && uid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn pod_of(folder: &str) -> Option<(String, String)> {
    let mut parts = folder.splitn(3, '_');
    named(parts.next()?, parts.next()?, parts.next()?)
}

fn named(namespace: &str, name: &str, uid: &str) -> Option<(String, String)> {
    let is_namespace = namespace.len() <= LABEL_LIMIT_BYTES && is_label(namespace);
    let is_name = name.len() <= DNS_NAME_LIMIT_BYTES && name.split('.').all(is_label);
    (is_namespace && is_name && is_uid(uid)).then(|| (uid.to_owned(), format!("{namespace}/{name}")))
}

fn is_label(label: &str) -> bool {
    let is_plain = label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    !label.is_empty() && is_plain && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests;
