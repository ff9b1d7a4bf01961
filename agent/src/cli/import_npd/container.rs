//! The container that runs node-problem-detector: its command line, and where the files come from that it sees.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::words;

const PROGRAM: &str = "node-problem-detector";
static NULL: Value = Value::Null;

/// A container of a workload.
#[derive(Debug)]
pub(super) struct Container<'a> {
    /// Of its command line, for messages: one argument a line.
    pub(super) file: PathBuf,
    /// Of its workload.
    pub(super) name: &'a str,
    pod: &'a Value,
    container: &'a Value,
}

/// Where a file of a container comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin<'a> {
    /// The first of these ConfigMaps that has the key.
    ConfigMap(Vec<(&'a str, String)>),
    Node(PathBuf),
    Image,
}

impl<'a> Container<'a> {
    /// Those of `object`, which is in the manifest `file`.
    pub(super) fn of(file: &Path, object: &'a Value) -> Vec<Self> {
        let template = &object["spec"]["template"]["spec"];
        let pod = if object["kind"] == "Pod" { &object["spec"] } else { template };
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let containers = list(&pod["containers"]).iter().filter(|container| is_it(container));
        containers
            .map(|container| Self {
                file: PathBuf::from(format!("{}#{kind}/{name}", file.display())),
                name,
                pod,
                container,
            })
            .collect()
    }

    /// What the program is started with, and whether a shell may make something else of it.
    pub(super) fn arguments(&self) -> (Vec<String>, bool) {
        let words = list(&self.container["command"]).iter().chain(list(&self.container["args"])).map(text);
        let words: Vec<String> = words.map(str::to_owned).collect();
        match words.as_slice() {
            [shell, flag, script, ..] if is_shell(shell) && flag.starts_with('-') && flag.ends_with('c') => {
                words::arguments(script)
            }
            _ => (words.into_iter().skip_while(|word| !word.starts_with('-')).collect(), false),
        }
    }

    /// The variables that have the name of its Node.
    pub(super) fn node_names(&self) -> Vec<&'a str> {
        let has_it = |variable: &&'a Value| variable["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName";
        list(&self.container["env"]).iter().filter(has_it).map(|variable| text(&variable["name"])).collect()
    }

    /// Where the file comes from that it sees as `path`.
    pub(super) fn origin(&self, path: &str) -> Origin<'a> {
        let path = Path::new(path);
        let at = |mount: &&'a Value| text(&mount["mountPath"]);
        let holds = |mount: &&'a Value| !at(mount).is_empty() && path.starts_with(at(mount));
        let depth = |mount: &&'a Value| Path::new(at(mount)).components().count();
        let Some(mount) = self.mounts().filter(holds).max_by_key(depth) else { return Origin::Image };
        let rest = path.strip_prefix(text(&mount["mountPath"])).unwrap_or(Path::new(""));
        let within: PathBuf = Path::new(text(&mount["subPath"])).components().chain(rest.components()).collect();
        let volume = self.volume(mount);
        if let Some(host) = volume["hostPath"]["path"].as_str() {
            return Origin::Node(Path::new(host).components().chain(within.components()).collect());
        }
        let keys: Vec<(&str, String)> =
            maps(volume).filter_map(|map| Some((text(&map["name"]), key(map, &within)?))).collect();
        if keys.is_empty() { Origin::Image } else { Origin::ConfigMap(keys) }
    }

    /// The names of the ConfigMaps that it sees.
    pub(super) fn config_maps(&self) -> Vec<&'a str> {
        self.mounts().flat_map(|mount| maps(self.volume(mount))).map(|map| text(&map["name"])).collect()
    }

    /// Folders and files of the node that have another path in the container: that, and the node's.
    pub(super) fn moved(&self) -> Vec<(&'a str, PathBuf)> {
        let of_node = self.mounts().filter_map(|mount| {
            let host = self.volume(mount)["hostPath"]["path"].as_str()?;
            let path: PathBuf =
                Path::new(host).components().chain(Path::new(text(&mount["subPath"])).components()).collect();
            Some((text(&mount["mountPath"]), path))
        });
        of_node.filter(|(inside, path)| !inside.is_empty() && Path::new(inside) != path).collect()
    }

    fn mounts(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        list(&self.container["volumeMounts"]).iter()
    }

    fn volume(&self, mount: &Value) -> &'a Value {
        list(&self.pod["volumes"]).iter().find(|volume| volume["name"] == mount["name"]).unwrap_or(&NULL)
    }
}

/// The ConfigMaps of a volume.
fn maps(volume: &Value) -> impl Iterator<Item = &Value> {
    let projected = list(&volume["projected"]["sources"]).iter().map(|source| &source["configMap"]);
    std::iter::once(&volume["configMap"]).chain(projected).filter(|map| map.is_object())
}

/// The key of the file `within` a volume.
fn key(map: &Value, within: &Path) -> Option<String> {
    let items = list(&map["items"]);
    if items.is_empty() {
        return within.to_str().map(str::to_owned);
    }
    items.iter().find(|item| Path::new(text(&item["path"])) == within).map(|item| text(&item["key"]).to_owned())
}

fn is_it(container: &Value) -> bool {
    let words = list(&container["command"]).iter().chain(list(&container["args"]));
    let mut texts = words.chain([&container["image"], &container["name"]]).map(text);
    texts.any(|text| text.contains(PROGRAM))
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "ash" | "dash"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workload(container: Value) -> Value {
        json!({"kind": "DaemonSet", "metadata": {"name": "npd"}, "spec": {"template": {"spec": {
            "containers": [{"name": "sidecar", "image": "other:1"}, container],
            "volumes": [
                {"name": "config", "configMap": {"name": "npd-config", "items": [
                    {"key": "kernel-monitor.json", "path": "kernel-monitor.json"}, {"key": "d", "path": "docker.json"}]}},
                {"name": "custom", "configMap": {"name": "custom"}},
                {"name": "both", "projected": {"sources": [{"configMap": {"name": "a"}}, {"secret": {"name": "s"}},
                    {"configMap": {"name": "b"}}]}},
                {"name": "log", "hostPath": {"path": "/var/log/"}},
                {"name": "plugins", "hostPath": {"path": "/opt/npd"}},
            ],
        }}}})
    }

    const MOUNTS: &str = r#"[
        {"name": "config", "mountPath": "/config"},
        {"name": "custom", "mountPath": "/config/custom/"},
        {"name": "custom", "mountPath": "/single.json", "subPath": "one.json"},
        {"name": "both", "mountPath": "/both"},
        {"name": "log", "mountPath": "/var/log"},
        {"name": "plugins", "mountPath": "/custom-plugins"},
        {"name": "gone", "mountPath": "/gone"}]"#;

    #[test]
    fn files_come_from_config_maps_the_node_or_the_image() {
        let mounts: Value = serde_json::from_str(MOUNTS).unwrap();
        let object = workload(json!({"name": "x", "image": "r.io/node-problem-detector:v1", "volumeMounts": mounts}));
        let found = Container::of(Path::new("a.yaml"), &object);
        let [container] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((container.file.to_str(), container.name), (Some("a.yaml#DaemonSet/npd"), "npd"));
        let keys = |keys: &[(&'static str, &str)]| {
            Origin::ConfigMap(keys.iter().map(|(map, key)| (*map, (*key).to_owned())).collect())
        };
        for (path, origin) in [
            ("/config/kernel-monitor.json", keys(&[("npd-config", "kernel-monitor.json")])),
            ("/config/docker.json", keys(&[("npd-config", "d")])),
            ("/config/other.json", Origin::Image),
            ("/config/custom/ntp.json", keys(&[("custom", "ntp.json")])),
            ("/single.json", keys(&[("custom", "one.json")])),
            ("/both/x.json", keys(&[("a", "x.json"), ("b", "x.json")])),
            ("/custom-plugins/x.json", Origin::Node("/opt/npd/x.json".into())),
            ("/configuration/x.json", Origin::Image),
            ("/gone/x.json", Origin::Image),
        ] {
            assert_eq!(container.origin(path), origin, "{path}");
        }
        assert_eq!(container.moved(), [("/custom-plugins", PathBuf::from("/opt/npd"))]);
        assert_eq!(container.config_maps(), ["npd-config", "custom", "custom", "a", "b"]);
    }

    #[test]
    fn arguments_are_of_the_program_with_or_without_a_shell() {
        let arguments = |container: Value| {
            let object = workload(container);
            Container::of(Path::new("a"), &object).first().map(Container::arguments)
        };
        let flags = |flags: &[&str]| Some((flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>(), false));
        for (container, expected) in [
            (json!({"command": ["/node-problem-detector", "--a=b"], "args": ["--c"]}), flags(&["--a=b", "--c"])),
            (json!({"image": "x/node-problem-detector", "args": ["--a=b"]}), flags(&["--a=b"])),
            (json!({"command": ["/bin/sh", "-c", "exec /node-problem-detector --a='b' 2"]}), flags(&["--a=b", "2"])),
            (json!({"command": ["/other", "--a"], "image": "x"}), None),
            (json!({"name": "node-problem-detector", "image": "x"}), flags(&[])),
        ] {
            assert_eq!(arguments(container.clone()), expected, "{container}");
        }
    }
}
