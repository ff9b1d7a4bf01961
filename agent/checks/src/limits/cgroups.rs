//! Reads cgroups: how many tasks those may have that hold all pods or all services, what pods lost, and of which version the
//! controllers are.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    cgroup::{self, Cgroups, pod_uid},
    probe::{ReadError, Roots, attribute},
};

use super::{
    kernel,
    reading::{CgroupsReading, Level, Pod},
};

/// Where kubelets put pods, by driver (`cgroupfs`, `systemd`) and by whether they have a cgroup root of their own (kind).
const PODS: [&str; 4] = ["kubepods.slice", "kubepods", "kubelet.slice/kubelet-kubepods.slice", "kubelet/kubepods"];
/// Beside those: where the node's own services are.
const SERVICES: &str = "system.slice";
/// More than the kubelet takes by far (110 by default).
const PODS_LIMIT: usize = 4096;

/// Everything that is asked of cgroups. What cannot be read is an error: of a cgroup that is not there nothing is
/// wrong.
pub(super) fn read(roots: &Roots) -> Result<CgroupsReading, ReadError> {
    let root = roots.sys.join("fs/cgroup");
    let unified = unified(&root)?;
    let mut reading = CgroupsReading { controllers: controllers(roots, unified.as_deref()), ..Default::default() };
    let hierarchies = unified.iter().cloned().chain([root.join("pids")]);
    for hierarchy in hierarchies {
        for name in PODS.into_iter().chain([SERVICES]) {
            if let Some(level) = tasks(&hierarchy.join(name))? {
                reading.tasks.entry(name.to_owned()).or_insert(level);
            }
        }
    }
    for pods in unified.iter().flat_map(|unified| PODS.map(|name| unified.join(name))) {
        read_pods(&pods, &mut reading.pods)?;
    }
    Ok(reading)
}

/// The root of version 2, if it is mounted.
fn unified(root: &Path) -> Result<Option<PathBuf>, ReadError> {
    for candidate in [root.to_owned(), root.join("unified")] {
        if attribute::is_there(&candidate.join("cgroup.controllers"))? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

fn controllers(roots: &Roots, unified: Option<&Path>) -> BTreeMap<String, bool> {
    let second = unified.and_then(|path| attribute::text(&path.join("cgroup.controllers")).ok().flatten());
    let second = second.unwrap_or_default();
    let first = cgroup::read(&roots.proc.join("self")).ok().flatten().unwrap_or_default();
    let first = Cgroups::parse(&first);
    let first = first.controllers().map(|name| (name.to_owned(), false));
    second.split_whitespace().map(|name| (name.to_owned(), true)).chain(first).collect()
}

/// `None` where there is no limit, no such cgroup or no such controller: then nothing is judged there.
fn tasks(cgroup: &Path) -> Result<Option<Level>, ReadError> {
    let max = attribute::number_shown(&cgroup.join("pids.max"))?.filter(|max| *max > 0);
    let used = attribute::number_shown(&cgroup.join("pids.current"))?;
    Ok(used.zip(max).map(|(used, max)| Level { used, max }))
}

/// The pods in `folder` and in its folders for the classes of service.
fn read_pods(folder: &Path, pods: &mut BTreeMap<String, Pod>) -> Result<(), ReadError> {
    for (name, path) in folders(folder)? {
        if let Some(uid) = pod_uid(&name) {
            pod(uid, &path, pods)?;
        } else if ["burstable", "besteffort"].iter().any(|class| name.trim_end_matches(".slice").ends_with(class)) {
            for (name, path) in folders(&path)? {
                if let Some(uid) = pod_uid(&name) {
                    pod(uid, &path, pods)?;
                }
            }
        }
    }
    Ok(())
}

/// One that ends meanwhile is none.
fn pod(uid: String, path: &Path, pods: &mut BTreeMap<String, Pod>) -> Result<(), ReadError> {
    let events = attribute::shown(&path.join("memory.events"))?;
    if let Some(oom_kills) = events.and_then(|text| kernel::value(&text, "oom_kill"))
        && pods.len() < PODS_LIMIT
    {
        pods.insert(uid, Pod { oom_kills });
    }
    Ok(())
}

fn folders(path: &Path) -> Result<Vec<(String, PathBuf)>, ReadError> {
    let entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(attribute::read_error(path, &error)),
    };
    let folders = entries.into_iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    Ok(folders.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect())
}

#[cfg(test)]
mod tests;
