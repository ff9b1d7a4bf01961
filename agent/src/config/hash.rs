//! The hash of the configuration in force: by it people see which nodes have another one than the rest of their group.

use nodewell_settings::{Fingerprint, Table};

use super::{Config, ConfiguredMute, Entry, Grant};

/// Every node has its own.
const NODE_NAME: &str = "node-name";

impl Config {
    /// `sha256:…` over each key that has not its usual value, and each `[[service]]`, `[[repair.unit]]`, `[[grant]]` and
    /// `[[mute]]`: what holds, whichever file or flag sets it. The node's name does not count.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hash = Fingerprint::default();
        for Entry { shown, .. } in self.entries(&[]) {
            let is_own = (shown.table, shown.key) == (Self::NAME, NODE_NAME);
            if !is_own && shown.value != shown.usual {
                // A value that is set is quoted, or a number or a list: an empty text stands for none.
                hash.add(&format!("{} {}", shown.table, shown.key), &shown.value.unwrap_or_default());
            }
        }
        self.checks.services.own.iter().for_each(|own| hash.add("[[service]]", &format!("{own:?}")));
        if self.repair.are_named {
            self.repair.units.iter().for_each(|unit| hash.add("[[repair.unit]]", &format!("{unit:?}")));
        }
        self.grants.iter().for_each(|grant| hash.add("[[grant]]", &grant.compared()));
        self.mutes.iter().for_each(|mute| hash.add("[[mute]]", &mute.compared()));
        hash.finish()
    }
}

impl Grant {
    /// All of it but where it stands. A user's number differs from host to host, so that whom it is for counts as it is
    /// written.
    fn compared(&self) -> String {
        let Self { to: _, written, conditions, reasons, events, clear, interval, burst, on_stale, at: _ } = self;
        format!("{written} {conditions:?} {reasons:?} {events} {clear:?} {interval:?} {burst:?} {on_stale:?}")
    }
}

impl ConfiguredMute {
    /// All of it but where it stands.
    fn compared(&self) -> String {
        let Self { key, until, why, at: _ } = self;
        format!("{key:?} {until} {why:?}")
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use nodewell_settings::read_text;

    use super::*;
    use crate::config::Grantee;

    /// A node with these files, the later ones over the earlier.
    fn read(texts: &[&str]) -> Config {
        let mut config = Config::default();
        for text in texts {
            read_text(&mut config, Path::new("nodewell.toml"), text).unwrap();
        }
        config.resolved()
    }

    fn of(texts: &[&str]) -> String {
        read(texts).hash()
    }

    #[test]
    fn what_holds_counts_and_not_how_it_is_written() {
        let usual = of(&[]);
        for same in ["# a comment\n", "standalone = false\n", "node-name = \"another\"\n", "[kmsg]\nfacilities = [0]\n"]
        {
            assert_eq!(of(&[same]), usual, "{same}");
        }
        let one = of(&["standalone = true\n[clock]\nenabled = false\n"]);
        assert_ne!(one, usual);
        assert_eq!(of(&["[clock]\nenabled = false\n", "standalone = true\n"]), one);
        assert_eq!(of(&["standalone = false\n", "standalone = true\n[clock]\nenabled = false # why\n"]), one);
    }

    #[test]
    fn each_kind_of_setting_counts() {
        let service = "[[service]]\nunit = \"etcd.service\"\n";
        let repair = "[[repair.unit]]\nunit = \"crio.service\"\ncondition = \"ContainerRuntimeUnhealthy\"\n";
        let grant = "[[grant]]\nunit = \"raid.service\"\nconditions = [\"DiskUnhealthy\"]\n";
        let mute = "[[mute]]\nreason = \"IOError\"\nuntil = 2026-12-31T18:00:00Z\nwhy = \"on order\"\n";
        let texts = [
            String::new(),
            "metrics-address = \"off\"\n".to_owned(),
            "[socket]\nburst = 41\n".to_owned(),
            service.to_owned(),
            format!("{service}required = true\n"),
            repair.to_owned(),
            format!("{repair}max-attempts = 2\n"),
            grant.to_owned(),
            format!("{grant}events = true\n"),
            format!("{grant}{grant}"),
            mute.to_owned(),
            mute.replace("2026", "2027"),
        ];
        let hashes: BTreeSet<String> = texts.iter().map(|text| of(&[text])).collect();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn where_a_table_stands_and_which_number_a_user_has_do_not_count() {
        let grant = "[[grant]]\nuser = \"root\"\nevents = true\n";
        let config = read(&[grant]);
        assert_eq!(of(&[&format!("\n\n{grant}")]), config.hash());
        let mut elsewhere = config.clone();
        elsewhere.grants[0].to = Grantee::User(990);
        assert_eq!(elsewhere.hash(), config.hash());
        assert_ne!(of(&[&grant.replace("root", "daemon")]), config.hash());
    }

    /// The hash is of what is in force: a key that needs a restart is not, before it.
    #[test]
    fn after_a_reload_what_needs_a_restart_does_not_count() {
        let (before, grant) = (read(&[]), "[[grant]]\nuser = 0\nevents = true\n");
        let both = read(&["standalone = true\n", grant]);
        let (reloaded, needs_restart) = before.with_rules_of(&both);
        assert!(needs_restart);
        assert_eq!(reloaded.hash(), of(&[grant]));
        assert_ne!(reloaded.hash(), both.hash());
    }
}
