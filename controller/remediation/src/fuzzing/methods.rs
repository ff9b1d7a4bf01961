//! ConfigMaps of fencing (`config.properties`, `fence-method-…`): what is ordered, and whose power it is.

use std::collections::BTreeMap;

use crate::method::{
    AgentAction, BuiltIn, FenceAgent, KnownConfigMaps, MethodDiagnostics, NodeMethods, Read, ValidatedMethods, check,
    check_value, read,
};

const NODE: &str = "n1";
/// One asks for the node's own ConfigMaps, for its type's, for methods' and for templates: no more than these rounds.
const ROUNDS: usize = 8;
/// An agent with an option of every kind.
const AGENT: &str = r#"<resource-agent name="fence_test"><parameters>
<parameter name="ip" required="1" obsoletes="ipaddr"><getopt mixed="--ip=[ip]"/><content type="string"/></parameter>
<parameter name="plug" obsoletes="port"><getopt mixed="--plug=[id]"/><content type="string"/></parameter>
<parameter name="ipport"><getopt mixed="--ipport=[port]"/><content type="integer" default="443"/></parameter>
<parameter name="username"><getopt mixed="--username=[name]"/><content type="string"/></parameter>
<parameter name="password"><getopt mixed="--password=[password]"/><content type="string"/></parameter>
<parameter name="ssl-insecure"><getopt mixed="--ssl-insecure"/><content type="boolean"/></parameter>
<parameter name="privlvl"><content type="select"><option value="user"/><option value="operator"/></content></parameter>
<parameter name="systems_uri"><content type="string"/></parameter>
<parameter name="power_timeout"><content type="second" default="20"/></parameter>
</parameters><actions><action name="on"/><action name="off"/><action name="reboot"/><action name="status"/></actions>
</resource-agent>"#;

/// A line `@MAP KEY` begins the text of a key of a ConfigMap. Either all of it is refused, with messages, or each level
/// turns the machine off and what is given to an agent is the options that it is written as.
pub fn methods(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let found = match resolve(&config_maps(text)) {
        Ok(found) => found,
        Err(MethodDiagnostics(why)) => return assert!(!why.is_empty() && why.iter().all(|why| !why.is_empty())),
    };
    let agent = || FenceAgent::parse(AGENT).map_err(|error| error.to_string());
    let agents = found.fence_agents().into_iter().map(|name| (name.to_owned(), agent())).collect();
    match check(&found, &agents) {
        Ok(validated) => look(&validated),
        Err(MethodDiagnostics(why)) => assert!(!why.is_empty() && why.iter().all(|why| !why.is_empty())),
    }
}

fn config_maps(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut maps = BTreeMap::<String, BTreeMap<String, String>>::new();
    let (mut map, mut key) = (format!("fence-config-{NODE}"), "config.properties".to_owned());
    for line in text.split_inclusive('\n') {
        match line.trim_end().strip_prefix('@').and_then(|names| names.split_once(' ')) {
            Some(names) => (map, key) = (names.0.to_owned(), names.1.to_owned()),
            None => maps.entry(map.clone()).or_default().entry(key.clone()).or_default().push_str(line),
        }
    }
    maps
}

fn resolve(maps: &BTreeMap<String, BTreeMap<String, String>>) -> Result<NodeMethods, MethodDiagnostics> {
    let labels = [("type".to_owned(), "gpu".to_owned())].into();
    let mut known = KnownConfigMaps::new();
    for _ in 0..ROUNDS {
        match read(NODE, &labels, &known) {
            Read::Need(names) => {
                assert!(!names.is_empty() && names.iter().all(|name| !known.contains_key(name)), "asked twice");
                known.extend(names.into_iter().map(|name| (name.clone(), maps.get(&name).cloned())));
            }
            Read::Methods(found) => return Ok(*found),
            Read::Refused(diagnostics) => return Err(diagnostics),
        }
    }
    panic!("it asks for ConfigMaps for ever")
}

fn look(validated: &ValidatedMethods) {
    assert!(!validated.levels.is_empty());
    let steps = [&validated.isolation, &validated.recovery].into_iter().chain(&validated.levels);
    let named: Vec<&String> = steps.flatten().collect();
    for (name, call) in &validated.calls {
        assert!(named.contains(&name) && *name == call.name && BuiltIn::named(name).is_none(), "{name}");
        assert!(call.secret.starts_with("secret-fence-method-"), "{}", call.secret);
        for (option, value) in &call.options {
            assert!(!value.contains(['\n', '\r', '\0']) && option != "action", "{option}");
            assert_eq!(check_value(&call.agent, option, value), None, "{option}={value:?}");
        }
    }
    for call in validated.calls.values().filter(|call| call.actions.contains(&AgentAction::Off)) {
        assert!(call.actions.contains(&AgentAction::Status) || !validated.is_of_power(&call.name), "{}", call.name);
    }
    // A first level that turns nothing off is none: such a node counts as one without methods.
    for level in validated.numbered().skip(1) {
        assert!(validated.power(level, AgentAction::Off).next().is_some(), "{level:?} turns nothing off");
    }
}
