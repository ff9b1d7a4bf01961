//! Node Problem Detector's own command line: which files it reads, and what of the rest is a key of `nodewell.toml`.

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

use super::{
    super::{
        custom::flags::{Flags, Known},
        json::Text,
    },
    Fate, Item,
    write::string,
};
use crate::{duration, report::Report};

const KNOWN: Known<'_> = Known {
    program: "node-problem-detector",
    values: &[
        "config.system-log-monitor",
        "config.custom-plugin-monitor",
        "config.system-stats-monitor",
        "system-log-monitors",
        "custom-plugin-monitors",
        "exporter.stackdriver",
        "apiserver-override",
        "apiserver-wait-timeout",
        "apiserver-wait-interval",
        "k8s-exporter-heartbeat-period",
        "event-namespace",
        "kube-api-qps",
        "kube-api-burst",
        "hostname-override",
        "address",
        "port",
        "prometheus-address",
        "prometheus-port",
    ],
    switches: &["enable-k8s-exporter", "k8s-exporter-write-events", "k8s-exporter-update-node-conditions", "version"],
};
/// Those that name files.
const CONFIGS: [&str; 5] = [
    "config.system-log-monitor",
    "config.custom-plugin-monitor",
    "config.system-stats-monitor",
    "system-log-monitors",
    "custom-plugin-monitors",
];
/// Its own defaults.
const METRICS_ADDRESS: &str = "127.0.0.1";
const METRICS_PORT: &str = "20257";
/// What `heartbeat` takes.
const HEARTBEATS: std::ops::RangeInclusive<Duration> = Duration::from_secs(10)..=Duration::from_mins(5);

/// What a command line asks for.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// The files that it reads, as it names them.
    pub configs: Vec<String>,
    /// For `nodewell.toml`; empty if nothing differs from the defaults.
    pub toml: String,
    pub items: Vec<Item>,
}

/// Reads the arguments that stand in `file`, one a line. `of_node` are the variables that hold the Node's name there.
#[must_use]
pub fn command_line(file: &Path, args: &[String], of_node: &[&str]) -> CommandLine {
    let text = args.join("\n");
    let mut report = Report::new(file, &text);
    let mut at = 0;
    let args: Vec<Text> = args
        .iter()
        .map(|arg| {
            let text = Text { text: arg.clone(), at };
            at += arg.len() + 1;
            text
        })
        .collect();
    let flags = Flags::read(&args, &KNOWN, &mut report);
    let configs = CONFIGS.iter().flat_map(|flag| flags.all(flag)).flat_map(|value| value.text.split(','));
    let configs = configs.filter(|path| !path.is_empty()).map(str::to_owned).collect();
    let mut keys = Keys::default();
    keys.node(&flags, of_node, &mut report);
    keys.apiserver(&flags, &mut report);
    keys.metrics(&flags, &report);
    keys.without_counterpart(&flags, &report);
    let mut items = keys.items;
    let (errors, notes) = report.finish();
    items.extend(errors.into_iter().map(|error| Item::new(error.location, Fate::Left, error.message)));
    items.extend(notes.into_iter().map(|note| Item::new(note.location, Fate::Left, note.message)));
    CommandLine { configs, toml: toml(&keys.top, &keys.apiserver), items }
}

fn toml(top: &[String], apiserver: &[String]) -> String {
    let table = if apiserver.is_empty() { String::new() } else { format!("\n[apiserver]\n{}", apiserver.concat()) };
    format!("{}{table}", top.concat())
}

/// Keys as they are found.
#[derive(Default)]
struct Keys {
    top: Vec<String>,
    apiserver: Vec<String>,
    items: Vec<Item>,
}

impl Keys {
    fn item(&mut self, flag: &Text, fate: Fate, text: String, report: &Report<'_>) {
        self.items.push(Item::new(report.location(flag.at), fate, text));
    }

    /// A key of `nodewell.toml` that says the same.
    fn set(&mut self, flag: &Text, key: &str, value: &str, report: &Report<'_>) {
        self.top.push(format!("{key} = {value}\n"));
        self.item(flag, Fate::Same, format!("{key} = {value}"), report);
    }

    fn node(&mut self, flags: &Flags<'_>, of_node: &[&str], report: &mut Report<'_>) {
        if let Some(name) = flags.text("hostname-override") {
            let given = format!("--hostname-override={}", name.text);
            if variable(&name.text).is_some_and(|variable| of_node.contains(&variable)) {
                let text = format!("{given}: the agent takes $NODE_NAME, else the host's name");
                self.item(name, Fate::Same, text, report);
            } else if name.text.contains('$') {
                let text = format!(
                    "{given}: this is not known to be the Node's name (spec.nodeName): set node-name on each node \
                     where it differs from the host's name"
                );
                self.item(name, Fate::Left, text, report);
            } else {
                self.set(name, "node-name", &string(&name.text), report);
            }
        }
        let enabled = flags.switch("enable-k8s-exporter", report);
        if let (Some(false), Some(flag)) = (enabled, flags.text("enable-k8s-exporter")) {
            self.set(flag, "standalone", "true", report);
        }
    }

    fn apiserver(&mut self, flags: &Flags<'_>, report: &mut Report<'_>) {
        if let Some(server) = flags.text("apiserver-override") {
            match kubeconfig(&server.text) {
                Some(file) => self.set(server, "kubeconfig", &string(file), report),
                None => self.item(server, Fate::Left, SERVER.to_owned(), report),
            }
        }
        let period = flags.duration("k8s-exporter-heartbeat-period", report);
        if let (Some(period), Some(flag)) = (period, flags.text("k8s-exporter-heartbeat-period")) {
            self.heartbeat(period, flag, report);
        }
        if let Some(namespace) = flags.text("event-namespace") {
            match namespace.text.as_str() {
                "default" => {}
                "kube-system" => {
                    self.apiserver.push("event-namespace = \"kube-system\"\n".to_owned());
                    self.item(
                        namespace,
                        Fate::Same,
                        "[apiserver] event-namespace = \"kube-system\"".to_owned(),
                        report,
                    );
                }
                other => {
                    let text = format!(
                        "--event-namespace={other}: Events about Nodes are in default, as the API server refuses them \
                         elsewhere"
                    );
                    self.item(namespace, Fate::Left, text, report);
                }
            }
        }
    }

    fn heartbeat(&mut self, period: Duration, flag: &Text, report: &Report<'_>) {
        let taken = period.clamp(*HEARTBEATS.start(), *HEARTBEATS.end());
        let key = format!("heartbeat = {}", string(&duration::shown(taken)));
        let (fate, text) = if taken == period {
            (Fate::Same, format!("[apiserver] {key}"))
        } else {
            let given = duration::shown(period);
            (Fate::Changed, format!("[apiserver] {key}, not {given}: it takes 10s to 5m"))
        };
        self.apiserver.push(format!("{key}\n"));
        self.item(flag, fate, text, report);
    }

    /// Ours are at another port, so that both programs can run beside each other.
    fn metrics(&mut self, flags: &Flags<'_>, report: &Report<'_>) {
        let (address, port) = (flags.text("prometheus-address"), flags.text("prometheus-port"));
        let Some(flag) = port.or(address) else { return };
        let port = port.map_or(METRICS_PORT, |port| &port.text);
        let address = address.map_or(METRICS_ADDRESS, |address| &address.text);
        if port == "0" {
            return self.set(flag, "metrics-address", "\"off\"", report);
        }
        let socket = address.parse::<IpAddr>().ok().zip(port.parse().ok()).map(SocketAddr::from);
        match socket {
            Some(socket) => {
                self.top.push(format!("metrics-address = \"{socket}\"\n"));
                let text = format!("metrics-address = \"{socket}\": in use until node-problem-detector is gone");
                self.item(flag, Fate::Changed, text, report);
            }
            None => {
                let text = format!("{address}:{port} is no address and port: set metrics-address yourself");
                self.item(flag, Fate::Left, text, report);
            }
        }
    }

    fn without_counterpart(&mut self, flags: &Flags<'_>, report: &Report<'_>) {
        for (name, why) in WITHOUT_COUNTERPART {
            // A switch that is on does what is done anyway.
            if let Some(flag) = flags.text(name).filter(|flag| !ON.contains(&flag.text.as_str())) {
                self.item(flag, Fate::Left, format!("--{name}: {why}"), report);
            }
        }
    }
}

/// The variable that all of `text` is: the kubelet puts in `$(NAME)`, a shell `$NAME` and `${NAME}`.
fn variable(text: &str) -> Option<&str> {
    let name = text.strip_prefix('$')?;
    let within = |start: char, end: char| name.strip_prefix(start)?.strip_suffix(end);
    Some(within('(', ')').or_else(|| within('{', '}')).unwrap_or(name))
}

/// The kubeconfig of `http(s)://host:port?auth=FILE`.
fn kubeconfig(uri: &str) -> Option<&str> {
    let (_, query) = uri.split_once('?')?;
    query.split('&').find_map(|pair| pair.strip_prefix("auth=")).filter(|file| !file.is_empty())
}

/// As Go's `strconv.ParseBool` has it.
const ON: [&str; 5] = ["t", "T", "true", "TRUE", "True"];
const SERVER: &str = "--apiserver-override: name a kubeconfig with this server (kubeconfig = …), or let the agent take \
                      the kubelet's ([identity])";
const WITHOUT_COUNTERPART: [(&str, &str); 9] = [
    ("apiserver-wait-timeout", "the agent waits for no API server"),
    ("apiserver-wait-interval", "the agent waits for no API server"),
    ("k8s-exporter-write-events", "Events are always written, unless the agent's identity may not create them"),
    (
        "k8s-exporter-update-node-conditions",
        "conditions are always written; `standalone = true` writes none, and no Events",
    ),
    ("kube-api-qps", "the agent has limits of its own: for each reason and subject, and for all Events together"),
    ("kube-api-burst", "the agent has limits of its own: for each reason and subject, and for all Events together"),
    ("address", "its /healthz and /conditions are on the local socket: curl --unix-socket /run/nodewell/nodewell.sock"),
    ("port", "its /healthz and /conditions are on the local socket: curl --unix-socket /run/nodewell/nodewell.sock"),
    ("exporter.stackdriver", "nothing is sent to Google Cloud Monitoring: let it scrape /metrics"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &[&str]) -> CommandLine {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        command_line(Path::new("npd.yaml#args"), &args, &["NODE_NAME"])
    }

    #[test]
    fn files_and_keys_come_from_the_flags() {
        let found = of(&[
            "--logtostderr",
            "--config.system-log-monitor=/config/kernel-monitor.json,/config/docker-monitor.json",
            "--config.custom-plugin-monitor",
            "/config/ntp.json",
            "--hostname-override=worker-7",
            "--apiserver-override=https://10.0.0.1:6443?inClusterConfig=false&auth=/etc/kubernetes/npd.conf",
            "--k8s-exporter-heartbeat-period=5m0s",
            "--prometheus-address=0.0.0.0",
            "--prometheus-port=20257",
        ]);
        assert_eq!(found.configs, ["/config/kernel-monitor.json", "/config/docker-monitor.json", "/config/ntp.json"]);
        let expected = "node-name = \"worker-7\"\nkubeconfig = \"/etc/kubernetes/npd.conf\"\n\
                        metrics-address = \"0.0.0.0:20257\"\n\n[apiserver]\nheartbeat = \"5m\"\n";
        assert_eq!(found.toml, expected);
        let heartbeat = found.items.iter().find(|item| item.text.contains("heartbeat")).unwrap();
        assert_eq!((heartbeat.fate, heartbeat.location.line), (Fate::Same, 7));
    }

    #[test]
    fn what_is_written_is_toml_whatever_the_value_is() {
        for name in ["a\u{7f}b", "a\"\n[grant]\nb", "a\\", "\u{1b}", "a\u{202e}b"] {
            let found = of(&[format!("--hostname-override={name}").as_str()]);
            let table: toml::Table = found.toml.parse().unwrap();
            assert_eq!(table["node-name"].as_str(), Some(name), "{}", found.toml);
            assert_eq!(table.len(), 1, "{}", found.toml);
            assert!(!found.toml.trim_end().contains(nodewell_printable::is_hidden), "{:?}", found.toml);
        }
    }

    #[test]
    fn a_variable_is_the_nodes_name_if_it_has_that_from_the_node() {
        for (name, fate) in [
            ("$(NODE_NAME)", Fate::Same),
            ("$NODE_NAME", Fate::Same),
            ("${NODE_NAME}", Fate::Same),
            ("$(POD_NAME)", Fate::Left),
            ("$(NODE_NAME)-npd", Fate::Left),
            ("$", Fate::Left),
        ] {
            let found = of(&[format!("--hostname-override={name}").as_str()]);
            assert_eq!((found.items[0].fate, found.toml.as_str()), (fate, ""), "{name}: {found:?}");
        }
    }

    #[test]
    fn what_has_no_counterpart_is_named_with_what_to_do() {
        let found = of(&[
            "--enable-k8s-exporter=false",
            "--prometheus-port=0",
            "--k8s-exporter-heartbeat-period=30m",
            "--event-namespace=monitoring",
            "--port=20256",
            "--k8s-exporter-write-events=true",
            "--exporter.stackdriver=/config/s.json",
            "--hostname-override=$(NODE_NAME)",
            "--no-such-flag",
        ]);
        assert_eq!(found.toml, "standalone = true\nmetrics-address = \"off\"\n\n[apiserver]\nheartbeat = \"5m\"\n");
        for (fate, part) in [
            (Fate::Changed, "not 30m: it takes 10s to 5m"),
            (Fate::Left, "--event-namespace=monitoring"),
            (Fate::Left, "--port: its /healthz"),
            (Fate::Left, "--exporter.stackdriver"),
            (Fate::Same, "the agent takes $NODE_NAME"),
            (Fate::Left, "has no flag --no-such-flag"),
        ] {
            assert!(found.items.iter().any(|item| item.fate == fate && item.text.contains(part)), "{part}: {found:?}");
        }
        assert!(!found.items.iter().any(|item| item.text.contains("write-events")), "it is on: {found:?}");
        assert_eq!((of(&[]).toml.as_str(), of(&[]).items.len()), ("", 0));
    }
}
