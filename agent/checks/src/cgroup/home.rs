//! The container that the agent itself runs in: what lives in the same one is at home.

use super::{Cgroups, Line, container};

/// The container that the agent itself runs in, if any: a process that lives in the same one is at home.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// Hierarchy, and the components down to the container.
    prefixes: Vec<(Box<str>, Vec<Box<str>>)>,
    /// The kernel shows no hierarchy at all, so there is nothing to distinguish peers by.
    is_bare: bool,
}

impl Home {
    /// From the agent's own `/proc/self/cgroup`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let cgroups = Cgroups::parse(text);
        let believed: &[Line<'_>] = if cgroups.is_odd { &[] } else { &cgroups.lines };
        let prefixes = believed.iter().filter_map(|line| {
            let found = container::find(&line.components)?;
            // Where only a group of containers is known, nothing but our own cgroup is surely ours.
            let end = if found.is_whole { found.last + 1 } else { line.components.len() };
            Some((line.hierarchy.into(), line.components[..end].iter().map(|&part| part.into()).collect()))
        });
        Self { prefixes: prefixes.collect(), is_bare: text.trim().is_empty() }
    }

    pub(super) fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// What is left of `line` below the agent's own container.
    pub(super) fn below<'l, 'a>(&self, line: &'l Line<'a>) -> &'l [&'a str] {
        let own = self.prefixes.iter().find(|(hierarchy, _)| **hierarchy == *line.hierarchy);
        let Some((_, prefix)) = own else { return &line.components };
        let is_same = line.components.len() >= prefix.len()
            && line.components.iter().zip(prefix).all(|(theirs, ours)| **theirs == **ours);
        if is_same { &line.components[prefix.len()..] } else { &line.components }
    }
}
