//! A last report that ends nothing: nothing is known of the daemon, because what is to end was reported by another user
//! or unit.

use std::io::{self, Write};

use nodewell_client::Client;
use nodewell_model::view::{DaemonState, DaemonView};

use crate::cli::render::one_line;

/// The daemons before the report. Without an account there is nothing to say afterwards.
pub(super) async fn known(client: &Client) -> Option<Vec<DaemonView>> {
    client.get("/v1/daemons").await.ok()
}

/// Warns on stderr if the last report of `source`, which `principal` sent, was of none of the `known` daemons.
pub(super) fn warn(known: &[DaemonView], source: &str, principal: &str) {
    if let Some(line) = ended_nothing(known, source, principal) {
        // Without stderr there is nowhere to write to.
        let _ = writeln!(io::stderr(), "warning: {line}");
    }
}

/// Where the agent does not send who reported, it is not known which daemon that was.
fn ended_nothing(known: &[DaemonView], source: &str, principal: &str) -> Option<String> {
    let name = format!("{source}@{principal}");
    if principal.is_empty() || known.iter().any(|daemon| daemon.name == name) {
        return None;
    }
    let is_of_source = |daemon: &&DaemonView| daemon.name.split_once('@').is_some_and(|(other, _)| other == source);
    let others: Vec<String> = known.iter().filter(is_of_source).map(shown).collect();
    let ended = format!("--last has ended nothing: nothing is known of {}", one_line(&name));
    if others.is_empty() {
        return Some(format!("{ended}, nor of another daemon of that source"));
    }
    Some(format!(
        "{ended}, but of {}: a daemon ends by --last of its own unit or user, and root ends what one that is gone has \
         left by `nodewell clear TYPE`",
        others.join(", ")
    ))
}

fn shown(daemon: &DaemonView) -> String {
    let name = one_line(&daemon.name);
    if daemon.state == DaemonState::Stale { format!("{name} (silent)") } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_daemons_of_the_same_source_are_named() {
        let daemons = [("raid@raid.service", "stale"), ("raid@uid:7", "running"), ("raids@root", "running")];
        let known = daemons.map(|(name, state)| json!({"name": name, "state": state}));
        let known: Vec<DaemonView> = serde_json::from_value(json!(known)).unwrap();
        let expected = "--last has ended nothing: nothing is known of raid@root, but of raid@raid.service (silent), \
                        raid@uid:7: a daemon ends by --last of its own unit or user, and root ends what one that is \
                        gone has left by `nodewell clear TYPE`";
        assert_eq!(ended_nothing(&known, "raid", "root").as_deref(), Some(expected));
        let expected = "--last has ended nothing: nothing is known of disks@root, nor of another daemon of that source";
        assert_eq!(ended_nothing(&known, "disks", "root").as_deref(), Some(expected));
        assert_eq!(ended_nothing(&known, "raid", "uid:7"), None, "it was there");
        assert_eq!(ended_nothing(&known, "disks", ""), None, "an older agent");
    }
}
