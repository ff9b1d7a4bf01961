//! ConfigMaps → a node's methods. Nothing is fetched here: what is not known yet is asked for by name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    BuiltIn, IdentityMethod, METHOD_PREFIX, Method, MethodDiagnostics, NodeMethods, RequestedAction, SourcedValue,
    cluster::{CONFIG_KEY, settings, split_list},
    config_maps::ConfigMapReader,
    pins::{OUTLETS, SYSTEM_UUID},
    properties::parse,
    source::{Source, own_map, pins, source},
};

const METHOD_KEYS: [&str; 2] = ["method.properties", "template.properties"];
const SECRET_PREFIX: &str = "secret-fence-method-";
/// `power_management` is the first fencing level; these keys are what it gives way to.
const FURTHER_LEVEL: &str = "power_management.";
/// As many as Pacemaker has.
const LEVELS: usize = 9;

/// `data` of ConfigMaps by name; `None` is one that is certainly not there.
pub type KnownConfigMaps = BTreeMap<String, Option<BTreeMap<String, String>>>;

/// What [`read`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// These ConfigMaps have to be looked up first. Never empty, and never one that is known.
    Need(BTreeSet<String>),
    Methods(Box<NodeMethods>),
    Refused(MethodDiagnostics),
}

/// What `known` has of the fencing of `node`, which has these labels. The node's own ConfigMap comes before that of its
/// type; options of a template give way to those of the method, and these to those of the node.
#[must_use]
pub fn read(node: &str, labels: &BTreeMap<String, String>, known: &KnownConfigMaps) -> Read {
    let mut reader = ConfigMapReader::default();
    let mut found = NodeMethods { node: node.to_owned(), ..NodeMethods::default() };
    found.cluster = settings(known, &mut reader);
    let own = own_map(node, known, &mut reader);
    found.pins.map = own.as_ref().map_or_else(|| format!("fence-config-{node}"), |(name, _)| name.clone());
    if let Some((name, data)) = &own {
        found.pins = pins(name, data);
    }
    match source(own, labels, known, &mut reader) {
        Source::Unknown => {}
        Source::Default => default_steps(&mut found),
        Source::Map { name, data, of_node } => {
            let mut reader = MethodReader { node, known, reader: &mut reader, map: &name, data, of_node };
            reader.steps(&mut found);
            reader.methods(&mut found);
            found.source = Some(name);
        }
    }
    if !reader.needs.is_empty() {
        return Read::Need(reader.needs);
    }
    if reader.diagnostics.is_empty() {
        Read::Methods(Box::new(found))
    } else {
        Read::Refused(MethodDiagnostics(reader.diagnostics))
    }
}

/// The proposal's default steps. Nothing can do `restart-instance`.
fn default_steps(found: &mut NodeMethods) {
    found.isolation = vec!["mark-unschedulable".to_owned()];
    found.power_management = vec!["restart-instance".to_owned()];
    found.recovery = vec!["uncordon".to_owned()];
}

/// Reads the ConfigMap of a node, or of its type, that names the steps.
struct MethodReader<'a, 'w> {
    node: &'a str,
    known: &'a KnownConfigMaps,
    reader: &'w mut ConfigMapReader,
    map: &'a str,
    data: &'a BTreeMap<String, String>,
    /// It is the node's own ConfigMap, not its type's.
    of_node: bool,
}

type Pairs = Vec<(String, SourcedValue)>;

impl MethodReader<'_, '_> {
    fn steps(&mut self, found: &mut NodeMethods) {
        default_steps(found);
        let source = format!("{}/{CONFIG_KEY}", self.map);
        let Some(text) = self.data.get(CONFIG_KEY) else {
            self.reader.report(format!("{} has no key {CONFIG_KEY}", self.map));
            return;
        };
        for (key, written) in parse(&source, text, &mut self.reader.diagnostics) {
            match key.as_str() {
                "node_name" if !self.of_node || written.value == self.node => {}
                "node_name" => self.reader.report(format!(
                    "{}: node_name is {}, but this is the ConfigMap of {}",
                    written.at, written.value, self.node
                )),
                key if key == OUTLETS || SYSTEM_UUID.contains(&key) => self.pin(key, &written),
                "isolation" => found.isolation = self.names(&written),
                "power_management" => found.power_management = self.names(&written),
                key if key.starts_with(FURTHER_LEVEL) => self.level(&key[FURTHER_LEVEL.len()..], &written, found),
                "recovery" => found.recovery = self.names(&written),
                _ => self.reader.report(format!(
                    "{}: {key} is not known here; there are node_name, system_uuid, outlets, isolation, \
                     power_management, {FURTHER_LEVEL}2 to {FURTHER_LEVEL}{LEVELS} and recovery",
                    written.at
                )),
            }
        }
        self.gaps(found);
        // The proposal's own default says mark-unschedulable where it means the opposite.
        for name in found.recovery.iter_mut().filter(|name| *name == "mark-unschedulable") {
            "uncordon".clone_into(name);
        }
    }

    /// Levels stand in the order of their numbers, whatever the order of their lines.
    fn level(&mut self, number: &str, written: &SourcedValue, found: &mut NodeMethods) {
        let at = &written.at;
        let index = match number.parse::<usize>() {
            Ok(number @ 2..=LEVELS) => number - 2,
            _ => {
                let text = format!(
                    "{at}: {FURTHER_LEVEL}{number} is no level; power_management is the first, \
                     {FURTHER_LEVEL}2 to {FURTHER_LEVEL}{LEVELS} are the further ones"
                );
                return self.reader.report(text);
            }
        };
        let names = self.names(written);
        if names.is_empty() {
            self.reader.report(format!("{at}: {FURTHER_LEVEL}{number} is empty; name its methods, or leave it away"));
        }
        if let Some(built_in) = names.iter().find(|name| BuiltIn::named(name).is_some()) {
            self.reader.report(format!("{at}: {built_in} turns nothing off; a level is of methods that do"));
        }
        if found.further_levels.len() <= index {
            found.further_levels.resize(index + 1, Vec::new());
        }
        found.further_levels[index] = names;
    }

    /// A level without those before it would never be reached, or always.
    fn gaps(&mut self, found: &NodeMethods) {
        let turns_off = |name: &String| BuiltIn::named(name).is_none();
        if !found.further_levels.is_empty() && !found.power_management.iter().any(turns_off) {
            self.reader.report(format!(
                "{}: power_management, the first level, names no method; it comes before {FURTHER_LEVEL}2",
                self.map
            ));
        }
        let levels = found.further_levels.iter().zip(2..);
        for (_, number) in levels.filter(|(names, _)| names.is_empty()) {
            let text = format!("{}: there is no {FURTHER_LEVEL}{number}; number the levels without gaps", self.map);
            self.reader.report(text);
        }
    }

    /// [`pins`] reads it; here it is reported where it has no effect.
    fn pin(&mut self, key: &str, written: &SourcedValue) {
        if !self.of_node {
            let own = format!("fence-config-{}", self.node);
            self.reader.report(format!(
                "{}: {key} is one machine's, and this ConfigMap is chosen by a label; write it into config.properties of {own}, \
                 alone: the steps are still taken from here",
                written.at
            ));
        } else if written.value.is_empty() {
            self.reader.report(format!("{}: {key} is empty; write what it is, or leave it away", written.at));
        }
    }

    fn names(&mut self, written: &SourcedValue) -> Vec<String> {
        let names: Vec<String> = split_list(&written.value)
            .iter()
            .map(|name| name.strip_prefix(METHOD_PREFIX).unwrap_or(name).to_owned())
            .collect();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                self.reader.report(format!("{}: {name} is named twice", written.at));
            }
        }
        names
    }

    fn methods(&mut self, found: &mut NodeMethods) {
        let steps = [&found.isolation, &found.recovery].into_iter().chain(found.levels());
        let named: BTreeSet<String> = steps.flatten().cloned().collect();
        for key in self.data.keys().filter(|key| *key != CONFIG_KEY) {
            match key.strip_prefix(METHOD_PREFIX) {
                Some(method) if named.contains(method) => {}
                Some(method) => self.reader.report(format!("{}: no step names the method {method}", self.map)),
                None => self.reader.report(format!(
                    "{}: the key {key} is not known; there are {CONFIG_KEY} and {METHOD_PREFIX}NAME",
                    self.map
                )),
            }
        }
        for name in named.iter().filter(|name| BuiltIn::named(name).is_none()) {
            if let Some(method) = self.method(name) {
                found.methods.insert(name.clone(), method);
            }
        }
    }

    /// Layers, the last wins: the template, the method's own ConfigMap, the key of the node's ConfigMap. Of a type's ConfigMap
    /// the key comes before the method's own ConfigMap.
    fn method(&mut self, name: &str) -> Option<Method> {
        let map = format!("{METHOD_PREFIX}{name}-{}", self.node);
        let separate = self.reader.find(self.known, &map).map(|data| (map.clone(), data));
        let separate = separate.map(|(map, data)| of_node(self.properties(&map, data), true));
        let inline_key = format!("{METHOD_PREFIX}{name}");
        let inline = self
            .data
            .get(&inline_key)
            .map(|text| parse(&format!("{}/{inline_key}", self.map), text, &mut self.reader.diagnostics))
            .map(|pairs| of_node(pairs, self.of_node));
        if separate.is_none() && inline.is_none() {
            let because = format!("{} names the method {name}, has no key {inline_key}", self.map);
            self.reader.absent(self.known, &map, &because);
            return None;
        }
        let mut layers: Vec<Pairs> = separate.into_iter().chain(inline).collect();
        if !self.of_node {
            layers.reverse();
        }
        let wanted = layers.iter().flatten().rfind(|(key, _)| key == "template");
        let template = wanted.map(|(_, written)| of_node(self.template(written), written.of_node)).unwrap_or_default();
        layers.insert(0, template);
        self.merge(name, layers)
    }

    fn template(&mut self, written: &SourcedValue) -> Pairs {
        let Some(data) = self.reader.find(self.known, &written.value) else {
            self.reader.absent(self.known, &written.value, &format!("{}: a template is named", written.at));
            return Pairs::new();
        };
        let pairs = self.properties(&written.value, data);
        for (_, inner) in pairs.iter().filter(|(key, _)| key == "template") {
            self.reader.report(format!("{}: a template cannot have one itself", inner.at));
        }
        pairs
    }

    fn properties(&mut self, map: &str, data: &BTreeMap<String, String>) -> Pairs {
        let mut pairs = Pairs::new();
        for (key, text) in data {
            if METHOD_KEYS.contains(&key.as_str()) {
                pairs.extend(parse(&format!("{map}/{key}"), text, &mut self.reader.diagnostics));
            } else {
                let known = METHOD_KEYS.join(" and ");
                self.reader.report(format!("{map}: the key {key} is not known; there are {known}"));
            }
        }
        pairs
    }

    fn merge(&mut self, name: &str, layers: Vec<Pairs>) -> Option<Method> {
        let secret = format!("{SECRET_PREFIX}{name}-{}", self.node);
        let mut method = Method { name: name.to_owned(), secret, ..Method::default() };
        for (key, written) in layers.into_iter().flatten() {
            self.set(&mut method, key, written);
        }
        if method.agent.is_empty() {
            // A template that is not there is an error of its own.
            self.reader.report(format!("method {name}: agent_name is missing; name the agent, such as fence_ipmilan"));
            return None;
        }
        Some(method)
    }

    fn set(&mut self, method: &mut Method, key: String, written: SourcedValue) {
        let value = written.value.clone();
        match key.as_str() {
            "template" | "name" => {}
            "agent_name" => match agent_name(&value) {
                Some(agent) => (method.agent, method.at) = (agent, written.at),
                None => self.reader.report(format!(
                    "{}: agent_name is {value}; write the agent's name alone, such as fence_ipmilan",
                    written.at
                )),
            },
            "action" => match requested_action(&value) {
                Some(action) => method.action = Some(action),
                None => {
                    self.reader.report(format!("{}: action is {value}; there are on, off and reboot", written.at))
                }
            },
            "must_sucess" | "must_success" | "must_succeed" => {
                if !matches!(value.to_ascii_lowercase().as_str(), "yes" | "true" | "on" | "1") {
                    self.reader.report(format!(
                        "{}: {key}={value} is not done here: every method must succeed; leave it away",
                        written.at
                    ));
                }
            }
            "identity" if value == "configured" => method.identity_method = IdentityMethod::Configured,
            "identity" if value == "asked" => method.identity_method = IdentityMethod::Asked,
            "identity" => {
                self.reader.report(format!("{}: identity is {value}; there are asked and configured", written.at));
            }
            "system-uuid" | "system_uuid" if !written.of_node => self.reader.report(format!(
                "{}: {key} is one machine's, and this is chosen by a label; write it into the ConfigMap {METHOD_PREFIX}{}-{}",
                written.at, method.name, self.node
            )),
            "system-uuid" | "system_uuid" => method.identity_method = IdentityMethod::Pinned(value),
            "storage" => method.storage = Some(value),
            // A client that may write ConfigMaps could otherwise have any Secret sent to an address of its own.
            "secret" if !value.starts_with(SECRET_PREFIX) => self.reader.report(format!(
                "{}: secret is {value}; only Secrets whose names begin with {SECRET_PREFIX} are read",
                written.at
            )),
            "secret" => {
                method.secret = value;
                method.secret_needed = true;
            }
            "script_path" => self.reader.report(format!(
                "{}: script_path is not run: cordon, uncordon and clean-pods are built in",
                written.at
            )),
            _ if key.replace('-', "_").ends_with("password_script") => method.secret_needed = true,
            _ => {
                method.options.insert(key.replace('-', "_"), written);
            }
        }
    }
}

fn of_node(pairs: Pairs, of_node: bool) -> Pairs {
    pairs.into_iter().map(|(key, written)| (key, SourcedValue { of_node, ..written })).collect()
}

/// `fence-ipmilan` and `fence_ipmilan` are the same; a path, or anything that is no agent, is none.
fn agent_name(text: &str) -> Option<String> {
    let name = text.replace('-', "_");
    let rest = name.strip_prefix("fence_")?;
    let fits =
        !rest.is_empty() && rest.len() < 64 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    fits.then_some(name)
}

/// `on`, `off` or `reboot`. Agents for switches call the first two enable and disable.
fn requested_action(text: &str) -> Option<RequestedAction> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "enable" => Some(RequestedAction::On),
        "off" | "disable" => Some(RequestedAction::Off),
        "reboot" => Some(RequestedAction::Reboot),
        _ => None,
    }
}
