//! Whose process is this: the text of `/proc/PID/cgroup` (cgroups(7)), because any process can choose its own name. Pure;
//! for all who ask: who may report, whether it is the node's own plumbing, which pod or service it belongs to.
//!
//! The first component below the slices is the systemd unit. Deeper ones are the unit's own to name, so they never
//! count; a container anywhere on the way counts, because runtimes put containers below units, too.

mod container;
mod plumbing;
mod pods;

pub(crate) use pods::pod_uid;

use pods::Owner;

/// The cgroups of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cgroups<'a>(&'a str);

impl<'a> Cgroups<'a> {
    /// `text` is that of the file.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        Self(text)
    }

    /// Where the process lives, seen from `home`.
    #[must_use]
    pub fn owner(&self, home: &Home) -> CgroupOwner {
        owner(self.0, home)
    }

    /// Whether the process belongs to the node's own plumbing.
    #[must_use]
    pub fn is_node_plumbing(&self) -> bool {
        plumbing::is_plumbing(self.0)
    }

    /// The uid of the pod that it belongs to.
    #[must_use]
    pub fn pod_uid(&self) -> Option<String> {
        match pods::of_process(self.0)? {
            Owner::Pod(uid) => Some(uid),
            Owner::Unit(_) => None,
        }
    }

    /// The service of the host that it belongs to.
    #[must_use]
    pub fn service(&self) -> Option<String> {
        match pods::of_process(self.0)? {
            Owner::Unit(unit) => Some(unit),
            Owner::Pod(_) => None,
        }
    }
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

/// The text of one process, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Lines<'a>(Vec<Line<'a>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line<'a> {
    /// The controllers, which name it: `name=systemd`, `cpu,cpuacct`; nothing for version 2.
    hierarchy: &'a str,
    components: Vec<&'a str>,
}

/// The container that the agent itself runs in, if any: a process that lives in the same one is at home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// Hierarchy, and the components down to the container.
    prefixes: Vec<(Box<str>, Vec<Box<str>>)>,
    /// The kernel shows no hierarchy at all, so there is nothing to distinguish peers by.
    bare: bool,
}

impl Home {
    /// From the agent's own `/proc/self/cgroup`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let lines = Lines::parse(text).unwrap_or_default().0;
        let prefixes = lines.iter().filter_map(|line| {
            let found = container::find(&line.components)?;
            // Where only a group of containers is known, nothing but our own cgroup is surely ours.
            let end = if found.is_whole { found.last + 1 } else { line.components.len() };
            Some((line.hierarchy.into(), line.components[..end].iter().map(|&part| part.into()).collect()))
        });
        Self { prefixes: prefixes.collect(), bare: text.trim().is_empty() }
    }

    /// What is left of `line` below the agent's own container.
    fn below<'l, 'a>(&self, line: &'l Line<'a>) -> &'l [&'a str] {
        let own = self.prefixes.iter().find(|(hierarchy, _)| **hierarchy == *line.hierarchy);
        let Some((_, prefix)) = own else { return &line.components };
        let same = line.components.len() >= prefix.len()
            && line.components.iter().zip(prefix).all(|(theirs, ours)| **theirs == **ours);
        if same { &line.components[prefix.len()..] } else { &line.components }
    }
}

/// The owner that `text` shows, seen from `home`.
fn owner(text: &str, home: &Home) -> CgroupOwner {
    let Some(lines) = Lines::parse(text) else { return CgroupOwner::Unknown("its cgroup cannot be read") };
    if lines.0.is_empty() && !home.bare {
        return CgroupOwner::Unknown("it has no cgroup");
    }
    let below: Vec<(&Line<'_>, &[&str])> = lines.0.iter().map(|line| (line, home.below(line))).collect();
    if let Some(name) = below.iter().find_map(|(_, components)| foreign(components)) {
        return CgroupOwner::Container(name);
    }
    let systemd = below.iter().filter(|(line, _)| line.is_systemds());
    let mut units: Vec<&str> = systemd.filter_map(|(_, components)| unit(components)).collect();
    units.dedup();
    match units.as_slice() {
        [] => CgroupOwner::Host,
        [unit] => CgroupOwner::Unit((*unit).into()),
        _ => CgroupOwner::Unknown("its cgroups name two units"),
    }
}

impl<'a> Lines<'a> {
    /// `None` if anything is not as the kernel writes it: then nothing in it is believed.
    fn parse(text: &'a str) -> Option<Self> {
        let mut lines: Vec<Line<'a>> = Vec::new();
        // Not `lines()`, which would take a carriage return from a name's end.
        for line in text.split_terminator('\n') {
            let line = Line::parse(line)?;
            if lines.iter().any(|known| known.hierarchy == line.hierarchy) {
                return None;
            }
            lines.push(line);
        }
        Some(Self(lines))
    }
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        // The kernel marks a cgroup that was removed: no living process is in one.
        if !numbered || !path.starts_with('/') || path.ends_with(" (deleted)") {
            return None;
        }
        Some(Self { hierarchy: controllers, components: path.split('/').filter(|part| !part.is_empty()).collect() })
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

fn unit<'a>(components: &[&'a str]) -> Option<&'a str> {
    let first = components.iter().find(|part| !part.ends_with(".slice"))?;
    // systemd puts `_` before a name that would look like one of the kernel's own files (`cg_escape`).
    let name = first.strip_prefix('_').unwrap_or(first);
    (name.ends_with(".service") || name.ends_with(".scope")).then_some(name)
}

#[cfg(test)]
mod tests;
