//! A method's options with its Secret's: read for each run, stored no longer than it.

use std::collections::BTreeMap;

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::method::{ValidatedMethod, check_value, destinations};

use crate::agent::Options;

/// The keys of a Secret that bind it: where its values may be sent, and for which nodes.
const BINDING: [&str; 2] = ["address", "node"];
/// Any node, if the Secret names it so; an address is always named.
const ANY: &str = "*";

/// # Errors
/// The Secret is not bound to the node and to where the method would send it, cannot be read, is missing though it was asked
/// for, or has a key that is no option of the agent's. Never with a value in it.
pub(super) async fn options<C: Configuration>(
    cluster: &C,
    node: &str,
    call: &ValidatedMethod,
) -> Result<Options, String> {
    let name = &call.secret;
    let mut options = Options { values: call.options.clone(), secrets: Vec::new() };
    let data = match cluster.secret(name).await {
        Ok(Some(data)) => unbound(data, node, call)?,
        Ok(None) if call.secret_needed => {
            return Err(format!("method {}: there is no Secret {name}; create it, with the key password", call.name));
        }
        Ok(None) => BTreeMap::new(),
        Err(error) => return Err(format!("method {}: Secret {name}: {error}", call.name)),
    };
    for (key, value) in data {
        let wrong = |why: &str| format!("method {}: Secret {name}, key {key}: {why}", call.name);
        let option = call.secret_keys.get(&key.replace('-', "_"));
        let option = option.ok_or_else(|| {
            wrong(&format!("{} has no such option for a Secret; rename it, or take it out", call.agent))
        })?;
        let text = String::from_utf8(value).map_err(|_| wrong("it is not UTF-8"))?;
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        if text.is_empty() || text.contains(['\n', '\r', '\0']) {
            return Err(wrong("it has to be one line, which is not empty"));
        }
        if let Some(why) = check_value(&call.agent, option, &text) {
            return Err(wrong(&format!("the value {why}")));
        }
        options.secrets.push(text.clone());
        if options.values.insert(option.clone(), text).is_some() {
            return Err(wrong("the option is given elsewhere as well; leave one"));
        }
    }
    for (option, value) in &call.options {
        if let Some(why) = check_value(&call.agent, option, value) {
            return Err(format!("method {}: {option} is {value:?}, which {why}", call.name));
        }
    }
    match call.needed.iter().find(|option| !options.values.contains_key(*option)) {
        Some(option) => Err(format!(
            "method {}: {} needs the option {option}; give it as a key of the Secret {name}",
            call.name, call.agent
        )),
        None => Ok(options),
    }
}

/// What is in the Secret beside its binding. A client that may write ConfigMaps could otherwise have any password sent
/// to an address of its own: only the Secret itself names where it may go.
fn unbound(
    mut data: BTreeMap<String, Vec<u8>>,
    node: &str,
    call: &ValidatedMethod,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let bound = BINDING.map(|key| data.remove(key).map(|text| String::from_utf8_lossy(&text).to_ascii_lowercase()));
    if data.is_empty() {
        return Ok(data);
    }
    let wanted = destinations(call);
    let names = |text: &Option<String>, one: &str| {
        text.as_deref().is_some_and(|text| text.split_whitespace().any(|name| name == one))
    };
    let [address, nodes] = &bound;
    let is_here = wanted.iter().all(|one| names(address, one));
    if is_here && (names(nodes, node) || names(nodes, ANY)) {
        return Ok(data);
    }
    Err(format!(
        "method {}: Secret {} is not given to {} for {node}: it is bound to {} for {}; if it belongs there, give it the keys \
         address: {:?} and node: {node:?} (stringData)",
        call.name,
        call.secret,
        wanted.join(" "),
        address.as_deref().unwrap_or("no address"),
        nodes.as_deref().unwrap_or("no node"),
        wanted.join(" ")
    ))
}
