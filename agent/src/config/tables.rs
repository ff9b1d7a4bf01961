//! The config as one table: its own keys, the tables in it, and those of which there may be several.

use nodewell_checks::{TABLES, repair::UnitRepair, service::OwnService};
use nodewell_settings::{
    Key, Kind, ListedTable, Part, Places, Report, Section, Table,
    kind::{Bool, CLUSTER, Choice, Maybe, Path, Paths, Word},
    tables,
};

use super::{CheckProcesses, Config, ConfiguredMute, Grant, MetricsAddress, SocketConfig, node_name};
use crate::exporters;

const CHECK_PROCESSES: Choice<CheckProcesses> =
    Choice(&[("auto", CheckProcesses::Auto), ("spawn", CheckProcesses::Spawn), ("none", CheckProcesses::None)]);
const NODE_NAME: Word<String> = Word { takes: "a Node's name", read: node_name::parse, shown: String::clone };
const PATHS: Paths = Paths { absolute: true };

impl Config {
    /// The tables that stand once.
    pub(super) fn parts() -> Vec<Part<Self>> {
        let sources: [Part<Self>; 4] = [
            Part::of(|it: &mut Self| &mut it.kmsg),
            Part::of(|it: &mut Self| &mut it.journal),
            Part::of(|it: &mut Self| &mut it.apiserver),
            Part::of(|it: &mut Self| &mut it.identity),
        ];
        let checks = TABLES.iter().map(|table| table().within(|it: &mut Self| &mut it.checks));
        let services: [Part<Self>; 2] =
            [Part::of(|it: &mut Self| &mut it.checks.services), Part::of(|it: &mut Self| &mut it.repair)];
        let exporters = exporters::tables().into_iter().map(|table| table.within(|it: &mut Self| &mut it.exporters));
        let socket = Part::of(|it: &mut Self| &mut it.socket);
        sources.into_iter().chain(checks).chain(services).chain(exporters).chain([socket]).collect()
    }

    /// The tables that may stand any number of times.
    #[must_use]
    pub fn listed() -> [ListedTable; 4] {
        [OwnService::listed(), UnitRepair::listed(), Grant::listed(), ConfiguredMute::listed()]
    }
}

impl Table for Config {
    const NAME: &'static str = "the config";
    const ABOUT: &'static str = "What stands in no table.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("node-name", |it| &mut it.named, Maybe(NODE_NAME))
                .help("This node's name; if unset, $NODE_NAME, else the host name in lower case.")
                .example(r#""worker-7""#),
            Self::key("cluster", |it| &mut it.cluster, Maybe(CLUSTER))
                .help("The cluster's name, a label of every metric; if unset, there is no such label.")
                .example(r#""east-1""#),
            Self::key("standalone", |it| &mut it.standalone, Bool).help("Whether to talk to no API server."),
            Self::key("kubeconfig", |it| &mut it.kubeconfig, Maybe(Path))
                .help("How to reach the API server, and as which user; if unset, see [identity].")
                .example(r#""/etc/kubernetes/kubelet.conf""#),
            Self::key("state-dir", |it| &mut it.state_dir, Maybe(Path))
                .help("Where state is stored; if unset, $STATE_DIRECTORY, else /var/lib/nodewell if it can be written.")
                .example(r#""/var/lib/nodewell""#),
            Self::key("metrics-address", |it| &mut it.metrics_address, MetricsAddress::KIND)
                .help("Where Prometheus finds /metrics."),
            Self::key("rules", |it| &mut it.rules, PATHS)
                .help("Folders of rule files in place of the shipped ones and of rules-override-dir.")
                .example(r#"["/usr/share/nodewell/rules"]"#),
            Self::key("rules-override-dir", |it| &mut it.rules_override_dir, Path)
                .help("Rule files of your own: one of the same name masks the shipped one, others are added."),
            Self::key("npd-config", |it| &mut it.npd_config, PATHS)
                .help("Node Problem Detector's system-log and system-stats configs.")
                .example(r#"["/etc/nodewell/kernel-monitor.json"]"#),
            Self::key("monitors-dir", |it| &mut it.monitors_dir, Path)
                .help("Its *.toml are rules, its *.json Node Problem Detector's configs, all loaded."),
            Self::key("kubelet-dir", |it| &mut it.kubelet_dir, Path)
                .help("What is mounted below its pods/ and plugins/ belongs to pods."),
            Self::key("check-processes", |it| &mut it.check_processes, CHECK_PROCESSES).help(
                "\"spawn\": the agent starts its check processes; \"none\": it does not; \"auto\": unless a \
                     service manager started the agent.",
            ),
        ]
    }

    fn others() -> Vec<&'static str> {
        Self::parts().iter().map(|part| part.key).chain(["service", "grant", "mute"]).collect()
    }

    fn places_of(key: &str) -> Places {
        let once = Self::parts();
        let once = once.iter().filter_map(|part| part.name_if_it_has(key)).map(str::to_owned);
        let listed = Self::listed().into_iter().filter(|table| table.names().contains(&key));
        let tables = once.chain(listed.map(|table| format!("[[{}]]", table.name))).collect();
        // As the short form of its `path`.
        let is_short = key == "socket";
        Places { top: is_short || Self::keys().iter().any(|known| known.name == key), tables }
    }

    fn read_others(&mut self, section: Section<'_>, report: &mut Report<'_>) {
        for part in Self::parts() {
            // `socket = "PATH"` is short for its `path` alone.
            let is_path = section.value(part.key).is_some_and(|value| part.key == "socket" && value.get_ref().is_str());
            if !is_path {
                part.read(self, section, report);
            } else if let Some(path) = Path.read(section, "socket", report) {
                self.socket.path = path;
                report.was_set(SocketConfig::NAME, "path", section.position("socket"));
            }
        }
        let services = OwnService::read_all(tables(section, "service", report), report);
        OwnService::add(&mut self.checks.services.own, services);
        // Of all files together: one more file never takes a grant away.
        let grants = tables(section, "grant", report).into_iter();
        self.grants.extend(grants.filter_map(|table| Grant::read(table, report)));
        let mutes = tables(section, "mute", report).into_iter();
        self.mutes.extend(mutes.filter_map(|table| ConfiguredMute::read(table, report)));
    }
}
