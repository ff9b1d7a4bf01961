//! A method's options with each account of its Secret: read for each run, stored no longer than it.

mod binding;
mod file;

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    net::IpAddr,
    path::Path,
};

use nodewell_reconcile::cluster::{Configuration, Secret};
use nodewell_remediation::{
    facts::Node,
    method::{ValidatedMethod, check_value},
};

use super::logins::{Account, Asked, Role};
use crate::agent::Options;

/// Ends the keys of the account that was valid before: while BMCs are changed one after the other, some take only that.
const PREVIOUS: &str = ".previous";
/// Of Redfish and IPMI.
const USUAL_PORTS: [&str; 3] = ["80", "443", "623"];

/// By what a method may log in. It holds secrets: no `Debug`.
pub(super) struct Accounts {
    /// The Secret's name.
    secret: String,
    /// Of the Secret and of the method's options, without a secret in it.
    fingerprint: u32,
    current: Options,
    previous: Option<Options>,
}

type Values = BTreeMap<String, Vec<u8>>;

impl Accounts {
    pub(super) fn of(&self, role: Role) -> &Options {
        match role {
            Role::Current => &self.current,
            Role::Previous => self.previous.as_ref().unwrap_or(&self.current),
        }
    }

    pub(super) fn into_options(self, role: Role) -> Options {
        let Self { current, previous, .. } = self;
        match role {
            Role::Current => current,
            Role::Previous => previous.unwrap_or(current),
        }
    }

    /// The BMC that they are for.
    pub(super) fn asked<'a>(&'a self, node: &'a Node, method: &'a str) -> Asked<'a> {
        let account = |options: &Options| {
            let user = options.values.get("username");
            Account {
                login: hash(&options.values),
                shared: hash(&(&self.secret, user, &options.secrets)),
                counter: hash(&(address(options), user)),
            }
        };
        Asked {
            node,
            method,
            secret: &self.secret,
            fingerprint: self.fingerprint,
            address: hash(&address(&self.current)),
            current: account(&self.current),
            previous: self.previous.as_ref().map(account),
        }
    }
}

/// # Errors
/// The Secret is not bound to the node and to where the method would send it, cannot be read, is missing though it was asked
/// for, or has a key that is no option of the agent's. Never with a value in it.
pub(super) async fn accounts<C: Configuration>(
    cluster: &C,
    folder: Option<&Path>,
    node: &str,
    call: &ValidatedMethod,
) -> Result<Accounts, String> {
    let found = read(cluster, folder, &call.secret).await;
    let found = found.map_err(|why| format!("method {}: Secret {}: {why}", call.name, call.secret))?;
    of_secret(found, node, call)
}

/// Another one for other options or accounts of the method, and for another thing that is wrong with them; the same
/// whatever else its Secret has, such as another node that it is for.
pub(super) fn fingerprint(found: Option<Secret>, node: &str, call: &ValidatedMethod) -> u64 {
    match of_secret(found, node, call) {
        Ok(Accounts { current, previous, .. }) => hash(&(current.values, previous.map(|previous| previous.values))),
        Err(why) => hash(&why),
    }
}

fn of_secret(found: Option<Secret>, node: &str, call: &ValidatedMethod) -> Result<Accounts, String> {
    let name = &call.secret;
    let is_there = found.is_some();
    let (version, data) = match found {
        Some(Secret { version, data }) => (version, binding::unbound(data, node, call)?),
        None if call.secret_needed => return Err(missing(call)),
        None => (String::new(), BTreeMap::new()),
    };
    let (before, now): (Values, Values) = data.into_iter().partition(|(key, _)| key.ends_with(PREVIOUS));
    let current = with(call, &now)?;
    if lacks_password(call, &current) {
        return Err(if is_there {
            format!("method {}: the Secret {name} has no key password", call.name)
        } else {
            missing(call)
        });
    }
    let previous = if before.is_empty() { None } else { Some(with(call, &replaced(now, before))?) };
    for (option, value) in &call.options {
        if let Some(why) = check_value(&call.agent, option, value) {
            return Err(format!("method {}: {option} is {value:?}, which {why}", call.name));
        }
    }
    if let Some(option) = call.needed.iter().find(|option| !current.values.contains_key(*option)) {
        return Err(format!(
            "method {}: {} needs the option {option}; give it as a key of the Secret {name}",
            call.name, call.agent
        ));
    }
    let fingerprint = u32::try_from(hash(&(&call.options, version)) >> 32).unwrap_or_default();
    Ok(Accounts { secret: name.clone(), fingerprint, current, previous })
}

fn missing(call: &ValidatedMethod) -> String {
    format!("method {}: there is no Secret {}; create it, with the key password", call.name, call.secret)
}

/// It names a user, and nothing that this one logs in by: the BMC would refuse it, and count that. Agents of SNMP and of clouds
/// have other ways, and fence_eps takes an empty password.
fn lacks_password(call: &ValidatedMethod, options: &Options) -> bool {
    let takes = |name: &str| call.secret_keys.values().any(|option| option == name);
    let ways = ["password", "identity_file", "msi", "cloud"];
    let by_password = takes("password") && !takes("community") && call.agent != "fence_eps";
    by_password
        && options.values.contains_key("username")
        && !ways.iter().any(|name| options.values.contains_key(*name))
}

/// A file of the name stands for the Secret, and the API server is not asked for it.
pub(super) async fn read<C: Configuration>(
    cluster: &C,
    folder: Option<&Path>,
    name: &str,
) -> Result<Option<Secret>, String> {
    let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&letter));
    if let Some(folder) = folder.filter(|_| is_name)
        && let Some(secret) = file::read(folder, name)?
    {
        return Ok(Some(secret));
    }
    cluster.secret(name).await.map_err(|error| error.to_string())
}

/// What is given of the account before replaces that of the account now; the rest both have in common.
fn replaced(now: Values, before: Values) -> Values {
    let before = before.into_iter().map(|(key, value)| (key.trim_end_matches(PREVIOUS).to_owned(), value));
    now.into_iter().chain(before).collect()
}

/// The method's options with one account.
fn with(call: &ValidatedMethod, data: &Values) -> Result<Options, String> {
    let mut options = Options { values: call.options.clone(), secrets: Vec::new() };
    for (key, value) in data {
        let wrong = |why: &str| format!("method {}: Secret {}, key {key}: {why}", call.name, call.secret);
        let option = call.secret_keys.get(&key.replace('-', "_"));
        let option = option.ok_or_else(|| {
            wrong(&format!("{} has no such option for a Secret; rename it, or take it out", call.agent))
        })?;
        let text = String::from_utf8(value.clone()).map_err(|_| wrong("it is not UTF-8"))?;
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
    Ok(options)
}

/// The BMC, however its address is written: IPMI and Redfish have one list of accounts. At an unusual port of the same host another
/// BMC may listen.
fn address(options: &Options) -> (String, Option<&str>) {
    let host = options.values.get("ip").map(|host| host.trim().to_ascii_lowercase()).unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let host = bare.parse::<IpAddr>().map_or_else(|_| bare.to_owned(), |address| address.to_string());
    let port = options.values.get("ipport").map(|port| port.trim());
    (host, port.filter(|port| !USUAL_PORTS.contains(port)))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(values: &[(&str, &str)]) -> Options {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Options { values: values.collect(), secrets: Vec::new() }
    }

    fn asked(values: &[(&str, &str)]) -> (u64, Account) {
        let accounts = Accounts { secret: "s".to_owned(), fingerprint: 0, current: options(values), previous: None };
        let node = Node::default();
        let asked = accounts.asked(&node, "bmc");
        (asked.address, asked.current)
    }

    /// By IPMI or by Redfish, and however its address is written.
    #[test]
    fn a_bmc_has_one_count_for_a_user() {
        let (address, account) = asked(&[("ip", "10.0.9.11"), ("username", "fence"), ("lanplus", "1")]);
        for same in [
            &[("ip", "10.0.9.11"), ("username", "fence"), ("systems_uri", "/redfish/v1/Systems/1")][..],
            &[("ip", " 10.0.9.11"), ("username", "fence"), ("ipport", "443")],
            &[("ip", "[10.0.9.11]"), ("username", "fence"), ("ipport", "623"), ("password", "p")],
        ] {
            let (other, counted) = asked(same);
            assert_eq!((other, counted.counter), (address, account.counter), "{same:?}");
            assert_ne!(counted.login, account.login, "{same:?}");
        }
        for (another, is_there) in [
            (&[("ip", "10.0.9.12"), ("username", "fence")][..], false),
            (&[("ip", "10.0.9.11"), ("username", "fence"), ("ipport", "8443")], false),
            (&[("ip", "10.0.9.11"), ("username", "other")], true),
            (&[("ip", "10.0.9.11")], true),
        ] {
            let (other, counted) = asked(another);
            assert_eq!((other == address, counted.counter == account.counter), (is_there, false), "{another:?}");
        }
        let of = |ip: &str| asked(&[("ip", ip)]).0;
        assert_eq!(of("fd00:0::1"), of("[FD00::1]"));
        assert_eq!(of("BMC-1"), of("bmc-1"));
    }
}
