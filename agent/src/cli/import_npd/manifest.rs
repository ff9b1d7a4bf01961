//! Manifests of Kubernetes: the files that node-problem-detector has from ConfigMaps, and its command line.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use nodewell_rules::{
    Location,
    npd::import::{CommandLine, Fate, Item, NpdFile, command_line},
};
use serde_json::Value;

use super::{
    super::error::{CommandError, DATA},
    container::{Container, Origin},
};

/// The objects of a file.
#[derive(Debug)]
pub(super) struct Manifest {
    path: PathBuf,
    objects: Vec<Value>,
}

impl Manifest {
    /// # Errors
    /// It is neither YAML nor JSON, or more of it than is read.
    pub(super) fn parse(path: PathBuf, text: &str) -> Result<Self, CommandError> {
        let documents = match serde_json::from_str::<Value>(text) {
            Ok(document) => vec![document],
            Err(_) => serde_saphyr::from_multiple(text).map_err(|error| unread(&path, &error))?,
        };
        Ok(Self { path, objects: documents.into_iter().flat_map(objects).collect() })
    }
}

fn unread(path: &Path, error: &serde_saphyr::Error) -> CommandError {
    let text = error.to_string();
    let what = text.lines().next().unwrap_or_default();
    let message = match error.without_snippet() {
        serde_saphyr::Error::Budget { .. } => {
            format!("it is larger, or nested deeper, than is read ({what}): give node-problem-detector's objects alone")
        }
        _ => format!("it is neither YAML nor JSON: {what}"),
    };
    CommandError::new(DATA, format!("{}: {message}", path.display()))
}

/// The object, or those of a list, as kubectl writes them.
fn objects(document: Value) -> Vec<Value> {
    let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    match document {
        Value::Object(mut fields) if is_list => match fields.remove("items") {
            Some(Value::Array(items)) => items.into_iter().flat_map(objects).collect(),
            _ => Vec::new(),
        },
        document => vec![document],
    }
}

/// What all manifests hold together.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) files: Vec<NpdFile>,
    /// For `nodewell.toml`.
    pub(super) keys: String,
    pub(super) items: Vec<Item>,
}

/// A container and its ConfigMaps may be in several manifests.
pub(super) fn found(manifests: &[Manifest]) -> Found {
    let maps = ConfigMaps(manifests);
    let mut found = Found::default();
    let containers: Vec<Container<'_>> = manifests.iter().flat_map(containers_of).collect();
    for container in &containers {
        found.add_container(container, &maps);
    }
    if containers.is_empty() {
        maps.keys(None).filter(ConfigKey::is_monitor).for_each(|key| found.add_file(key.file()));
    }
    found
}

fn containers_of(manifest: &Manifest) -> Vec<Container<'_>> {
    manifest.objects.iter().flat_map(|object| Container::of(&manifest.path, object)).collect()
}

impl Found {
    fn add_container(&mut self, container: &Container<'_>, maps: &ConfigMaps<'_>) {
        let (arguments, differs) = container.arguments();
        let CommandLine { configs, toml, items } = command_line(&container.file, &arguments, &container.node_names());
        self.items.extend(items);
        let at = |line| Location { file: container.file.clone(), line };
        if differs {
            let text = "a shell replaces parts of the command line, such as $NAME: they were read as they are written";
            self.items.push(Item::new(at(0), Fate::Changed, text));
        }
        self.add_keys(container, &toml);
        let mut taken = BTreeSet::new();
        for path in &configs {
            let line = arguments.iter().position(|argument| argument.contains(path)).map_or(0, |index| index + 1);
            match config(container, path, maps) {
                Ok(file) if taken.insert(file.path.clone()) => {
                    self.add_moved(container, &file);
                    self.add_file(file);
                }
                // A file may be named twice.
                Ok(_) => {}
                Err(text) => self.items.push(Item::new(at(line), Fate::Left, text)),
            }
        }
        let seen = container.config_maps();
        for key in maps.keys(Some(&seen)).filter(|key| !taken.contains(&key.path())) {
            let text = if key.is_monitor() {
                "no flag names it, so it is not loaded there either: import it as a file if you want it"
            } else {
                "it is no monitor; a program that a plug-in runs has to be on the node itself"
            };
            self.items.push(Item::new(Location { file: key.path(), line: 0 }, Fate::Left, text));
        }
    }

    /// Two workloads for two kinds of nodes have flags of their own, and a file has the keys of one.
    fn add_keys(&mut self, container: &Container<'_>, toml: &str) {
        if toml.is_empty() {
            return;
        }
        let from = nodewell_model::text::line(&container.file.display().to_string(), 200);
        let keys = format!(
            "# Taken over from node-problem-detector's flags in {from} by `nodewell import-npd`.\n\n{}",
            toml.trim_start()
        );
        if self.keys.is_empty() {
            self.keys = keys;
        } else {
            let text = format!(
                "only the flags of another workload are written; for the nodes of {}, import this one alone",
                container.name
            );
            self.items.push(Item::new(Location { file: container.file.clone(), line: 0 }, Fate::Left, text));
        }
    }

    /// What the file names by its path in the container is elsewhere on the node.
    fn add_moved(&mut self, container: &Container<'_>, file: &NpdFile) {
        for (inside, outside) in container.moved() {
            let inside = inside.trim_end_matches('/');
            if [format!("\"{inside}/"), format!("\"{inside}\"")].iter().any(|named| file.text.contains(named)) {
                let text = format!(
                    "{inside} in the container is {} on the node: change it in the new file",
                    outside.display()
                );
                self.items.push(Item::new(Location { file: file.path.clone(), line: 0 }, Fate::Changed, text));
            }
        }
    }

    fn add_file(&mut self, file: NpdFile) {
        if !self.files.iter().any(|known| known.path == file.path) {
            self.files.push(file);
        }
    }
}

/// The file that a flag names, or why it is not here and what to do.
fn config(container: &Container<'_>, path: &str, maps: &ConfigMaps<'_>) -> Result<NpdFile, String> {
    match container.origin(path) {
        Origin::ConfigMap(keys) => {
            let here = keys.iter().find_map(|(map, key)| maps.get(map, key));
            let names: Vec<String> = keys.iter().map(|(map, key)| format!("{key} of the ConfigMap {map}")).collect();
            let names = names.join(" or ");
            here.ok_or_else(|| format!("{path} is {names}, which is not here: give its manifest as well"))
        }
        Origin::Node(file) => {
            Err(format!("{path} in the container is {} on the node: import it there", file.display()))
        }
        Origin::Image => Err(format!(
            "{path} is the image's own: the stock monitors are covered by the shipped rules; if yours is \
             changed, copy it out of the image and import it as a file"
        )),
    }
}

/// The ConfigMaps of all manifests.
struct ConfigMaps<'a>(&'a [Manifest]);

/// A file in one.
struct ConfigKey<'a> {
    manifest: &'a Manifest,
    map: &'a str,
    key: &'a str,
    text: &'a str,
}

impl<'a> ConfigMaps<'a> {
    /// Those of these maps; `None`: of all.
    fn keys(&self, of: Option<&[&str]>) -> impl Iterator<Item = ConfigKey<'a>> {
        let maps = self.0.iter().flat_map(|manifest| manifest.objects.iter().map(move |object| (manifest, object)));
        let maps = maps.filter(|(_, object)| object["kind"] == "ConfigMap");
        maps.flat_map(|(manifest, object)| {
            let map = object["metadata"]["name"].as_str().unwrap_or_default();
            let data = object["data"].as_object().into_iter().flatten();
            data.filter_map(move |(key, text)| Some(ConfigKey { manifest, map, key, text: text.as_str()? }))
        })
        .filter(move |key| of.is_none_or(|maps| maps.contains(&key.map)))
    }

    fn get(&self, map: &str, key: &str) -> Option<NpdFile> {
        self.keys(Some(&[map])).find(|known| known.key == key).map(|key| key.file())
    }
}

impl ConfigKey<'_> {
    fn is_monitor(&self) -> bool {
        self.key.ends_with(".json")
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("{}#{}/{}", self.manifest.path.display(), self.map, self.key))
    }

    fn file(&self) -> NpdFile {
        NpdFile { path: self.path(), text: self.text.to_owned() }
    }
}
