//! Which ConfigMap a node's steps come from: its own, that of its type, or none; and what its own pins of its machine.

use std::collections::BTreeMap;

use super::{
    KnownConfigMaps,
    cluster::{CONFIG_KEY, split_list},
    config_maps::ConfigMapReader,
    pins::{OUTLETS, Pins, SYSTEM_UUID},
    properties::parse,
};

/// The node's label that names its type.
const TYPE_LABEL: &str = "type";

pub(super) enum Source<'a> {
    Unknown,
    Default,
    Map { name: String, data: &'a BTreeMap<String, String>, of_node: bool },
}

/// A ConfigMap by its name.
pub(super) type Named<'a> = (String, &'a BTreeMap<String, String>);

pub(super) fn own_map<'a>(node: &str, known: &'a KnownConfigMaps, reader: &mut ConfigMapReader) -> Option<Named<'a>> {
    let own = [format!("fence-config-{node}"), format!("fence-config-node-{node}")];
    let both = own.each_ref().map(|name| reader.find(known, name));
    match both {
        [Some(_), Some(_)] => reader.report(format!("{} and {} are both there; keep one", own[0], own[1])),
        [Some(data), None] => return Some((own[0].clone(), data)),
        [None, Some(data)] => return Some((own[1].clone(), data)),
        [None, None] => {}
    }
    None
}

/// What the node's own ConfigMap pins of its machine. Errors are reported where its steps are read.
pub(super) fn pins(name: &str, data: &BTreeMap<String, String>) -> Pins {
    let mut pins = Pins { map: name.to_owned(), ..Pins::default() };
    let text = data.get(CONFIG_KEY).map_or("", String::as_str);
    for (key, written) in parse(name, text, &mut Vec::new()) {
        match key.as_str() {
            OUTLETS => {
                pins.outlets =
                    Some(split_list(&written.value).into_iter().map(|one| one.to_ascii_lowercase()).collect())
            }
            key if SYSTEM_UUID.contains(&key) => pins.system_uuid = Some(written.value),
            _ => {}
        }
    }
    pins
}

/// It pins the machine and leaves the steps to the node's type.
fn only_pins(data: &BTreeMap<String, String>) -> bool {
    let mut diagnostics = Vec::new();
    let text = data.get(CONFIG_KEY).map_or("", String::as_str);
    let pairs = parse("", text, &mut diagnostics);
    let is_pin = |key: &str| key == OUTLETS || SYSTEM_UUID.contains(&key);
    let pins = pairs.iter().filter(|(key, _)| is_pin(key)).count();
    let is_all = pairs.iter().all(|(key, _)| is_pin(key) || key == "node_name");
    pins > 0 && is_all && data.len() == 1 && diagnostics.is_empty()
}

pub(super) fn source<'a>(
    own: Option<Named<'a>>,
    labels: &BTreeMap<String, String>,
    known: &'a KnownConfigMaps,
    reader: &mut ConfigMapReader,
) -> Source<'a> {
    if let Some((name, data)) = own.filter(|(_, data)| !(labels.contains_key(TYPE_LABEL) && only_pins(data))) {
        return Source::Map { name, data, of_node: true };
    }
    let Some(kind) = labels.get(TYPE_LABEL) else { return Source::Default };
    let name = format!("fence-config-type-{kind}");
    match reader.find(known, &name) {
        Some(data) => Source::Map { name, data, of_node: false },
        None if known.contains_key(&name) => Source::Default,
        None => Source::Unknown,
    }
}
