//! The config: which errors are reported, and what the shipped file sets.

use std::{fs, path::Path};

use super::*;

const SHIPPED: &str = include_str!("../../../packaging/nodewell-controller.toml");

fn parse(path: &Path, text: &str) -> Result<Settings, Vec<Diagnostic>> {
    let mut settings = Settings::default();
    read_text(&mut settings, path, text).map(|_| settings)
}

fn refusal(text: &str) -> Vec<String> {
    parse(Path::new("c.toml"), text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn every_error_is_reported_with_its_line() {
    let refusal = refusal(
        "dry-run = \"no\"\nnamespaces = \"x\"\nprobes = [\"gateway\"]\n[leader]\nretry = \"soon\"\n[etcd]\nca = \"a\"\n",
    );
    for (line, message) in [
        ("c.toml:1: ", "\"dry-run\" takes true or false, not a string"),
        ("c.toml:2: ", "unknown key \"namespaces\" in the config; did you mean \"namespace\"?"),
        ("c.toml:3: ", "\"gateway\" is not host:port"),
        ("c.toml:5: ", "is not a duration; write 90s"),
        ("c.toml:6: ", "[etcd] takes all of"),
    ] {
        assert!(
            refusal.iter().any(|one| one.starts_with(line) && one.contains(message)),
            "{line}{message}: {refusal:#?}"
        );
    }
    assert_eq!(refusal.len(), 5, "{refusal:#?}");
}

#[test]
fn a_key_outside_its_table_names_where_it_belongs() {
    let of = |text: &str| refusal(text).remove(0);
    let kubeconfig = of("[leader]\nkubeconfig = \"/a\"\n");
    assert!(
        kubeconfig.contains("in [leader]; it must stand above the line of the first table, or is a key of "),
        "{kubeconfig}"
    );
    let of_leader = of("retry = \"2s\"\n");
    assert!(of_leader.ends_with("it is a key of [leader], whose line must stand above it"), "{of_leader}");
}

#[test]
fn what_is_no_toml_is_reported_with_its_line() {
    assert!(refusal("dry-run = true\nnamespace = \n")[0].starts_with("c.toml:2: not TOML: "));
}

#[test]
fn nothing_is_done_unless_configured() {
    let config = Config::resolved(Settings::default()).unwrap();
    assert!(config.dry_run);
    assert_eq!(config.etcd, None);
    assert_eq!(config.metrics_listen.unwrap().to_string(), "127.0.0.1:20258");
}

/// Who may write those objects may have machines turned off.
#[test]
fn requests_of_other_remediators_are_served_where_it_is_switched_on() {
    let config = Config::resolved(Settings::default()).unwrap();
    assert_eq!((config.external_remediation, config.cluster_api), (false, None));
    let text = "[external-remediation]\nenabled = true\n[cluster-api]\nkubeconfig = \"/m\"\nnamespace = \"fleet\"\n\
                cluster = \"prod\"\n";
    let config = Config::resolved(parse(Path::new("c.toml"), text).unwrap()).unwrap();
    let cluster_api = ClusterApi { kubeconfig: "/m".into(), namespace: "fleet".into(), cluster: "prod".into() };
    assert_eq!((config.external_remediation, config.cluster_api), (true, Some(cluster_api)));
    let half = refusal("dry-run = true\n[cluster-api]\nkubeconfig = \"/m\"\nnamespace = \"fleet\"\n");
    assert!(
        half[0].starts_with("c.toml:2: ") && half[0].contains("takes all of kubeconfig, namespace and cluster"),
        "{half:?}"
    );
}

#[test]
fn later_files_and_flags_win_key_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("c.toml");
    fs::write(&main, "namespace = \"one\"\nnode-name = \"a\"\n").unwrap();
    fs::create_dir(folder.path().join("c.toml.d")).unwrap();
    fs::write(folder.path().join("c.toml.d/10.toml"), "node-name = \"b\"\nlog-level = \"debug\"\n").unwrap();
    fs::write(folder.path().join("c.toml.d/20.toml"), "node-name = \"c\"\n").unwrap();
    fs::write(folder.path().join("c.toml.d/notes.txt"), "not ours").unwrap();
    let config = Config::load(Some(&main), |settings| settings.dry_run = false).unwrap();
    assert_eq!((config.namespace.as_str(), config.node_name.as_deref()), ("one", Some("c")));
    assert_eq!((config.log_level.as_str(), config.dry_run), ("debug", false));
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let absent = Path::new("/nonexistent/c.toml");
    let diagnostics = Config::load(Some(absent), |_| {}).unwrap_err();
    assert!(diagnostics[0].to_string().starts_with("/nonexistent/c.toml: cannot read the config: "));
}

#[test]
fn a_leader_stops_before_another_begins() {
    for wrong in ["duration = \"10s\"", "retry = \"5s\"", "duration = \"15500ms\"", "renew-deadline = \"16s\""] {
        let settings = parse(Path::new("c.toml"), &format!("[leader]\n{wrong}\n")).unwrap();
        assert!(Config::resolved(settings).unwrap_err().to_string().contains("15s, 10s, 2s"), "{wrong}");
    }
}

/// An agent's Lease is `namespace/NODE`, a kubelet's `kube-node-lease/NODE`, and a Node may be named like any Lease.
#[test]
fn no_node_can_be_named_like_the_leaders_lease() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap());
    let config = resolved("").unwrap();
    assert_ne!(config.leader.namespace, config.namespace);
    let wrong = [
        "[leader]\nnamespace = \"nodewell\"\n",
        "[leader]\nnamespace = \"kube-node-lease\"\n",
        "namespace = \"nodewell-controller\"\n",
        "namespace = \"x\"\n[leader]\nnamespace = \"x\"\nlease = \"y\"\n",
    ];
    for wrong in wrong {
        let refusal = resolved(wrong).unwrap_err().to_string();
        assert!(refusal.contains("where nodes have Leases of their own"), "{wrong}: {refusal}");
    }
    assert_eq!(resolved("namespace = \"x\"\n").unwrap().leader.namespace, "nodewell-controller");
}

#[test]
fn the_approver_is_another_user_or_none() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap());
    assert_eq!(resolved("[approver]\nkubeconfig = \"/a\"\n").unwrap().approver, None, "off unless it is switched on");
    let approver = resolved("[approver]\nenabled = true\nkubeconfig = \"/a\"\n").unwrap().approver.unwrap();
    assert_eq!((approver.kubeconfig.as_path(), approver.deny_forged), (Path::new("/a"), false));
    for (text, refusal) in [
        ("[approver]\nenabled = true\n", "has no kubeconfig"),
        ("kubeconfig = \"/a\"\n[approver]\nenabled = true\nkubeconfig = \"/a\"\n", "the same kubeconfig /a"),
    ] {
        let diagnostic = resolved(text).unwrap_err().to_string();
        assert!(diagnostic.contains(refusal), "{diagnostic}");
    }
}

#[test]
fn crash_dumps_are_heard_where_configured_and_claims_honoured_unless_not() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap()).unwrap();
    let listen = |word: &str| resolved(&format!("[kdump]\nlisten = {word:?}\n")).kdump_listen.map(|at| at.to_string());
    assert_eq!((resolved("").kdump_listen, listen("off")), (None, None));
    for (word, address) in [
        ("10.0.0.1", "10.0.0.1:7410"),
        ("0.0.0.0:1234", "0.0.0.0:1234"),
        ("::", "[::]:7410"),
        ("[fd00::1]", "[fd00::1]:7410"),
    ] {
        assert_eq!(listen(word).as_deref(), Some(address));
    }
    assert!(refusal("[kdump]\nlisten = \"eth0\"\n")[0].starts_with("c.toml:2: \"listen\": \"eth0\" is neither"));
    assert_eq!(resolved("").claims_namespace.as_deref(), Some("medik8s-leases"));
    assert_eq!(resolved("[claims]\nnamespace = \"x\"\n").claims_namespace.as_deref(), Some("x"));
    assert_eq!(resolved("[claims]\nenabled = false\nnamespace = \"x\"\n").claims_namespace, None);
}

#[test]
fn policies_are_asked_about_on_loopback_unless_configured_otherwise() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap()).unwrap().webhook;
    let webhook = resolved("").unwrap();
    assert_eq!((webhook.listen.to_string().as_str(), webhook.files), ("127.0.0.1:20260", None));
    assert_eq!(resolved("[webhook]\nlisten = \"off\"\n"), None);
    let files = resolved("[webhook]\ncert = \"/c\"\nkey = \"/k\"\n").unwrap().files.unwrap();
    assert_eq!((files.cert.as_path(), files.key.as_path()), (Path::new("/c"), Path::new("/k")));
    assert!(refusal("[webhook]\ncert = \"/c\"\n")[0].contains("takes both of cert and key"));
    assert!(refusal("[webhook]\nlisten = \"eth0\"\n")[0].starts_with("c.toml:2: \"listen\": \"eth0\" is neither"));
}

#[test]
fn bmcs_are_asked_once_in_ten_minutes_unless_configured_otherwise() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap()).unwrap().fencing;
    let pace = |fencing: Fencing| (fencing.preflight_interval.as_secs(), fencing.preflight_concurrency);
    assert_eq!(pace(resolved("")), (600, 16));
    let text = "[fencing]\npreflight-interval = \"20m\"\npreflight-concurrency = 32\n";
    assert_eq!(pace(resolved(text)), (1200, 32));
    for wrong in ["\"30s\"", "\"2h\""] {
        assert!(refusal(&format!("[fencing]\npreflight-interval = {wrong}\n"))[0].contains("is from 1m to 1h"));
    }
    for (wrong, takes) in
        [("0", "from 1 to 256"), ("257", "from 1 to 256"), ("\"16\"", "a whole number"), ("-1", "1 to 256")]
    {
        let refusal = refusal(&format!("[fencing]\npreflight-concurrency = {wrong}\n"));
        assert!(refusal[0].starts_with("c.toml:2: ") && refusal[0].contains(takes), "{refusal:?}");
    }
}

#[test]
fn passwords_and_authorities_are_the_api_servers_and_the_hosts_unless_configured_otherwise() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap()).unwrap().fencing;
    assert_eq!((resolved("").secrets_folder, resolved("").ca_file), (None, None));
    let fencing = resolved("[fencing]\nsecrets-folder = \"/s\"\nca-file = \"/c.pem\"\n");
    assert_eq!((fencing.secrets_folder, fencing.ca_file), (Some("/s".into()), Some("/c.pem".into())));
}

#[test]
fn silent_agents_are_looked_after_unless_configured_off() {
    let resolved = |text: &str| Config::resolved(parse(Path::new("c.toml"), text).unwrap()).unwrap();
    assert!(resolved("").liveness);
    assert!(!resolved("[liveness]\nenabled = false\n").liveness);
    assert!(
        refusal("[liveness]\nafter = \"1m\"\n")[0].contains("unknown key \"after\" in [liveness]; it takes enabled")
    );
}

#[test]
fn the_shipped_config_changes_nothing_and_is_right_when_uncommented() {
    assert_eq!(parse(Path::new("c.toml"), SHIPPED).unwrap(), Settings::default());
    let uncommented: Vec<&str> = SHIPPED
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with([' ', ':'])).unwrap_or(line))
        .collect();
    Config::resolved(parse(Path::new("c.toml"), &uncommented.join("\n")).unwrap()).unwrap();
}

#[test]
fn blank_names_and_paths_are_refused() {
    for wrong in ["namespace = \"\"", "kubeconfig = \" \"", "[leader]\nlease = \"\"", "[claims]\nnamespace = \"\""] {
        assert!(refusal(wrong)[0].contains("must not be empty"), "{wrong}");
    }
}

#[test]
fn the_package_makes_the_folders_of_the_pause_files_and_names_these() {
    let shipped = include_str!("../../../systemd/nodewell-controller.tmpfiles");
    let comment = shipped.lines().next().unwrap();
    for file in PAUSE_FILES.map(Path::new) {
        let (folder, name) = (file.parent().unwrap().display(), file.file_name().unwrap().display());
        assert!(shipped.contains(&format!("\nd {folder} 0755 root root -\n")), "{folder} is not made");
        assert!(comment.contains(&format!("`{name}`")), "{comment} does not name {name}");
    }
}
