//! A method's options with its Secret's: read for each run, kept no longer than it.

use std::collections::BTreeMap;

use nodewell_reconcile::cluster::Configuration;
use nodewell_remedy::method::Call;

use crate::agent::Options;

/// # Errors
/// The Secret cannot be read, is missing though it was asked for, or has a key that is no option of the agent's. Never
/// with a value in it.
pub(super) async fn options<C: Configuration>(cluster: &C, call: &Call) -> Result<Options, String> {
    let name = &call.secret;
    let mut options = Options { values: call.options.clone(), secrets: Vec::new() };
    let data = match cluster.secret(name).await {
        Ok(Some(data)) => data,
        Ok(None) if call.secret_needed => {
            return Err(format!("method {}: there is no Secret {name}; create it, with the key password", call.name));
        }
        Ok(None) => BTreeMap::new(),
        Err(error) => return Err(format!("method {}: Secret {name}: {error}", call.name)),
    };
    for (key, value) in data {
        let wrong = |why: &str| format!("method {}: Secret {name}, key {key}: {why}", call.name);
        let option = call.names.get(&key.replace('-', "_"));
        let option = option.ok_or_else(|| {
            wrong(&format!("{} has no such option for a Secret; rename it, or take it out", call.agent))
        })?;
        let text = String::from_utf8(value).map_err(|_| wrong("it is not UTF-8"))?;
        let text = text.trim_end_matches(['\n', '\r']).to_owned();
        if text.is_empty() || text.contains(['\n', '\r', '\0']) {
            return Err(wrong("it has to be one line, which is not empty"));
        }
        options.secrets.push(text.clone());
        if options.values.insert(option.clone(), text).is_some() {
            return Err(wrong("the option is given elsewhere as well; keep one"));
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
