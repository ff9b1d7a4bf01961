//! Each monitor listens to one reader: claims and a daemon's own state are stored by the monitor's name, and two
//! readers of one name would overwrite each other.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    sync::Arc,
};

use super::Loaded;
use crate::{Location, Note, Reader, RuleSet};

/// Gives the rules of a second reader whose monitor's name is taken another name; a note reports it once for each.
pub(super) fn make_distinct(loaded: &mut Loaded) {
    let mut names = Names::of(&loaded.set);
    let Loaded { set, notes, .. } = loaded;
    for rule in &mut set.rules {
        let Some(reader) = set.readers.get(rule.reader) else { continue };
        let (name, is_new) = names.name(&rule.monitor, rule.reader, reader);
        if is_new && name != rule.monitor {
            notes.push(note(&rule.location, &rule.monitor, &name));
        }
        rule.monitor = name;
    }
}

struct Names {
    /// By the name in the file and the reader.
    given: HashMap<(Arc<str>, usize), Arc<str>>,
    /// All names in use. Those that the files give come first, so that no made one takes them away.
    taken: HashSet<Arc<str>>,
    /// Which reader has the name that its file gives.
    owners: HashMap<Arc<str>, usize>,
}

impl Names {
    fn of(set: &RuleSet) -> Self {
        let mut owners = HashMap::new();
        for rule in &set.rules {
            owners.entry(Arc::clone(&rule.monitor)).or_insert(rule.reader);
        }
        Self { given: HashMap::new(), taken: owners.keys().cloned().collect(), owners }
    }

    /// The monitor's name, and whether it is asked for the first time.
    fn name(&mut self, given_name: &Arc<str>, index: usize, reader: &Reader) -> (Arc<str>, bool) {
        match self.given.entry((Arc::clone(given_name), index)) {
            Entry::Occupied(known) => (Arc::clone(known.get()), false),
            Entry::Vacant(vacant) => {
                let is_owner = self.owners.get(given_name) == Some(&index);
                let name = if is_owner { Arc::clone(given_name) } else { free_name(given_name, reader, &self.taken) };
                self.taken.insert(Arc::clone(&name));
                (Arc::clone(vacant.insert(name)), true)
            }
        }
    }
}

fn free_name(given_name: &str, reader: &Reader, taken: &HashSet<Arc<str>>) -> Arc<str> {
    let base = format!("{given_name}-{}", reader.npd_plugin());
    let numbered = (2_u32..).map(|number| format!("{base}-{number}"));
    let mut free = std::iter::once(base.clone()).chain(numbered).filter(|name| !taken.contains(name.as_str()));
    free.next().unwrap_or(base).into()
}

fn note(location: &Location, given_name: &str, name: &str) -> Note {
    let message =
        format!("another source's monitor is named {given_name:?} already: this one is {name:?}; name it yourself");
    Note::new(location.clone(), message)
}
