//! Whose process is this: the text of `/proc/PID/cgroup` (cgroups(7)), because any process can choose its own name.
//! One parser for all who ask: who may report, whether it is the node's own plumbing, which pod or service it belongs
//! to.
//!
//! The first component below the slices is the systemd unit. Deeper ones are the unit's own to name, so they never
//! count; a container anywhere on the way counts, because runtimes put containers below units, too. What takes rights
//! is believed of any line; what gives them only of a text that is wholly as the kernel writes it of a living process.

mod container;
mod home;
mod plumbing;
mod pods;

pub use home::Home;
pub(crate) use pods::pod_uid;

use std::{io, path::Path};

use nodewell_sys::proc::content;

/// The text of the file of the process whose folder in procfs is `folder`; `None` where it is gone. Bytes that are no
/// UTF-8 stand in it as U+FFFD, which [`Cgroups::parse`] knows.
///
/// # Errors
/// Where it cannot be read.
pub fn read(folder: &Path) -> io::Result<Option<String>> {
    let bytes = content(&folder.join("cgroup"))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Where a process lives, as far as its cgroups show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CgroupOwner {
    /// On the host itself, in this systemd unit.
    Unit(Box<str>),
    /// On the host, in no unit.
    Host,
    /// In a container; the name shows which.
    Container(Box<str>),
    /// It cannot be determined; the sentence gives the reason.
    Unknown(&'static str),
}

/// The cgroups of one process, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroups<'a> {
    lines: Vec<Line<'a>>,
    /// Something in the text is not as the kernel writes it of a living process: then nothing in it gives a right.
    is_odd: bool,
}

/// The cgroup of one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line<'a> {
    /// The controllers, which name it: `name=systemd`, `cpu,cpuacct`; nothing for version 2.
    hierarchy: &'a str,
    path: &'a str,
    components: Vec<&'a str>,
    /// The kernel marks a cgroup that was removed: no living process is in one.
    is_deleted: bool,
}

impl<'a> Cgroups<'a> {
    /// `text` is that of the file; bytes that are no UTF-8 stand in it as U+FFFD.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let mut cgroups = Self { lines: Vec::new(), is_odd: false };
        // Not `lines()`, which would take a carriage return from a name's end.
        text.split_terminator('\n').for_each(|line| cgroups.take(line));
        cgroups
    }

    fn take(&mut self, line: &'a str) {
        // Two names would be one.
        self.is_odd |= line.contains(char::REPLACEMENT_CHARACTER);
        let Some(line) = Line::parse(line) else {
            self.is_odd = true;
            return;
        };
        let is_known = self.lines.iter().any(|known| known.hierarchy == line.hierarchy);
        self.is_odd |= is_known || line.is_deleted;
        self.lines.push(line);
    }

    /// Where the process lives, seen from `home`.
    #[must_use]
    pub fn owner(&self, home: &Home) -> CgroupOwner {
        match self.unit(home) {
            Ok(Some(unit)) => CgroupOwner::Unit(unescaped(unit).into()),
            Ok(None) => CgroupOwner::Host,
            Err(owner) => owner,
        }
    }

    /// Whether the process belongs to the node's own plumbing: what the node needs to run pods. Nothing in a container
    /// does, and nothing on whose way there is a cgroup of pods.
    #[must_use]
    pub fn is_node_plumbing(&self) -> bool {
        matches!(self.unit(&Home::default()), Ok(Some(unit)) if plumbing::is_unit(unit))
    }

    /// The service of the host's systemd that the process belongs to.
    #[must_use]
    pub fn service(&self) -> Option<&'a str> {
        let unit = self.unit(&Home::default()).ok()??;
        Some(unescaped(unit)).filter(|unit| unit.ends_with(".service"))
    }

    /// The uid of the pod that the process belongs to. That is no right: one that has ended has a pod, too.
    #[must_use]
    pub fn pod_uid(&self) -> Option<String> {
        self.lines.iter().find_map(|line| {
            let pods = container::pods(&line.components)?;
            line.components[pods..].iter().find_map(|part| pod_uid(part))
        })
    }

    /// The path in the hierarchy of version 2.
    #[must_use]
    pub fn unified_path(&self) -> Option<&'a str> {
        self.lines.iter().find(|line| line.hierarchy.is_empty()).map(|line| line.path)
    }

    /// The controllers of version 1.
    pub fn controllers(&self) -> impl Iterator<Item = &'a str> {
        let names = self.lines.iter().flat_map(|line| line.hierarchy.split(','));
        // `name=systemd` is a hierarchy without a controller.
        names.filter(|name| !name.is_empty() && !name.contains('='))
    }

    /// The component of the unit that the process lives in, if in any; where it does not live on the host for certain,
    /// that is the error.
    fn unit(&self, home: &Home) -> Result<Option<&'a str>, CgroupOwner> {
        if self.is_odd {
            return Err(CgroupOwner::Unknown("its cgroup cannot be read"));
        }
        if self.lines.is_empty() && !home.is_bare() {
            return Err(CgroupOwner::Unknown("it has no cgroup"));
        }
        let below: Vec<(&Line<'a>, &[&'a str])> = self.lines.iter().map(|line| (line, home.below(line))).collect();
        if let Some(name) = below.iter().find_map(|(_, components)| foreign(components)) {
            return Err(CgroupOwner::Container(name));
        }
        let systemds = below.iter().filter(|(line, _)| line.is_systemds());
        let mut units: Vec<&'a str> = systemds.filter_map(|(_, components)| unit(components)).collect();
        units.dedup();
        match units[..] {
            [] => Ok(None),
            [unit] => Ok(Some(unit)),
            _ => Err(CgroupOwner::Unknown("its cgroups name two units")),
        }
    }
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        // The path may hold colons itself.
        let (number, rest) = line.split_once(':')?;
        let (hierarchy, path) = rest.split_once(':')?;
        let is_numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if !is_numbered || !path.starts_with('/') {
            return None;
        }
        let living = path.strip_suffix(" (deleted)");
        let (path, is_deleted) = (living.unwrap_or(path), living.is_some());
        let components = path.split('/').filter(|part| !part.is_empty()).collect();
        Some(Self { hierarchy, path, components, is_deleted })
    }

    /// Whether systemd has its units in this hierarchy: version 2, or its own of version 1.
    fn is_systemds(&self) -> bool {
        self.hierarchy.is_empty() || self.hierarchy == "name=systemd"
    }
}

/// The container that these components lie in, by a name for people.
fn foreign(components: &[&str]) -> Option<Box<str>> {
    // Above our own cgroup namespace.
    if components.contains(&"..") {
        return Some("outside".into());
    }
    let found = container::find(components)?;
    // A group's entry shows more than the group.
    let deepest = if found.is_whole { found.last } else { (found.last + 1).min(components.len() - 1) };
    Some(components[deepest].into())
}

/// The first component below the slices, if it is that of a unit.
fn unit<'a>(components: &[&'a str]) -> Option<&'a str> {
    let first = components.iter().copied().find(|part| !part.ends_with(".slice"))?;
    (first.ends_with(".service") || first.ends_with(".scope")).then_some(first)
}

/// systemd puts `_` before a name that would look like one of the kernel's own files (`cg_escape`).
fn unescaped(component: &str) -> &str {
    component.strip_prefix('_').unwrap_or(component)
}

#[cfg(test)]
mod tests;
