//! Logins that a BMC refused. Many lock an account, or the address that asks, after three to five of them, and then the node
//! can no longer be fenced. So an account that was refused is tried again ever more seldom: four times in the first hour; and at once
//! when its options or its Secret are another.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    time::Duration,
};

use nodewell_remediation::time::Moment;

use crate::agent::Options;

/// After the first refusal, the second, and so on; after all further ones the last.
const WAITS: [Duration; 4] =
    [Duration::from_secs(30), Duration::from_secs(300), Duration::from_secs(1800), Duration::from_secs(3600)];

/// By node and method.
#[derive(Debug, Default)]
pub(super) struct Logins(BTreeMap<(String, String), Refused>);

#[derive(Debug)]
struct Refused {
    /// Of the address, the account and all else: no password is stored for this.
    options: u64,
    count: usize,
    at: Moment,
    why: String,
}

impl Refused {
    fn wait(&self) -> Duration {
        wait(self.count)
    }
}

fn wait(refusals: usize) -> Duration {
    WAITS[refusals.clamp(1, WAITS.len()) - 1]
}

impl Logins {
    /// Why these options are not tried now.
    pub(super) fn check(&self, node: &str, method: &str, options: &Options, now: Moment) -> Result<(), String> {
        let Some(refused) = self.0.get(&key(node, method)).filter(|refused| refused.options == hash(options)) else {
            return Ok(());
        };
        if now.since(refused.at) >= refused.wait() { Ok(()) } else { Err(refused.why.clone()) }
    }

    /// Returns why, with when it is tried again: the same sentence until then.
    pub(super) fn refuse(&mut self, node: &str, method: &str, options: &Options, now: Moment, why: &str) -> String {
        let options = hash(options);
        let before = self.0.remove(&key(node, method)).filter(|refused| refused.options == options);
        let count = before.map_or(0, |refused| refused.count) + 1;
        let wait = wait(count).as_secs();
        let why = format!("{why}; not to be locked out it asks again after {wait} s, or at once with another Secret");
        self.0.insert(key(node, method), Refused { options, count, at: now, why: why.clone() });
        why
    }

    pub(super) fn take(&mut self, node: &str, method: &str) {
        self.0.remove(&key(node, method));
    }

    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|(node, _), _| is_there(node));
    }
}

fn key(node: &str, method: &str) -> (String, String) {
    (node.to_owned(), method.to_owned())
}

fn hash(options: &Options) -> u64 {
    let mut hasher = DefaultHasher::new();
    options.values.hash(&mut hasher);
    hasher.finish()
}
