//! The table of the network: what it resolves to, what it refuses.

use nodewell_checks::network::NetworkSettings;

use super::*;

fn parsed(text: &str) -> Result<NetworkSettings, Vec<String>> {
    read(text).map(|config| config.checks.network)
}

#[test]
fn nothing_said_is_the_checks_own_defaults() {
    assert_eq!(parsed("").unwrap(), NetworkSettings::default());
    assert_eq!(parsed("[network]\n").unwrap(), NetworkSettings::default());
}

#[test]
fn every_key_arrives() {
    let settings = parsed(
        "[network]\nenabled = false\ninterval = \"20s\"\nignore = [\"enp9*\"]\ndefault-route = false\nfor = \"2m\"\n\
         flaps-per-hour = 7\nerrors-per-minute = 8\nerrors-per-million = 9\nnames = [\"a.example\"]\ndns-failures = 4\n",
    );
    let expected = NetworkSettings {
        enabled: false,
        interval: Duration::from_secs(20),
        ignore: vec!["enp9*".to_owned()],
        default_route: false,
        for_duration: Duration::from_secs(120),
        flaps_per_hour: 7,
        errors_per_minute: 8,
        errors_per_million: 9,
        names: Some(vec!["a.example".to_owned()]),
        dns_failures: 4,
        kubeconfigs: Vec::new(),
    };
    assert_eq!(settings, Ok(expected));
}

#[test]
fn a_later_file_has_the_last_word_key_by_key() {
    let first = "[network]\nnames = [\"a.example\"]\nflaps-per-hour = 9\n";
    let both = read_all(&[first, "[network]\nnames = []\n"]).unwrap().checks.network;
    assert_eq!((both.names, both.flaps_per_hour), (Some(Vec::new()), 9));
}

#[test]
fn errors_are_reported_with_their_lines() {
    let text = "[network]\ninterval = \"1s\"\nignore = [\"a**b\"]\nfor = \"2h\"\nflaps-per-hour = 1\n\
                names = [\"10.0.0.1\", \"a b\"]\ndefault-routes = true\n";
    let diagnostics = parsed(text).unwrap_err().join("\n");
    for message in [
        "nodewell.toml:2: \"interval\" is from 5s to 7d",
        "nodewell.toml:3: \"a**b\" is no pattern of names",
        "nodewell.toml:4: \"for\" is at most 1h",
        "nodewell.toml:5: ",
        "nodewell.toml:6: \"10.0.0.1\" is no name",
        "nodewell.toml:6: \"a b\" is no name",
        "nodewell.toml:7: ",
    ] {
        assert!(diagnostics.contains(message), "{message} in {diagnostics}");
    }
    let many = "[network]\nnames = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n";
    assert!(parsed(many).unwrap_err()[0].contains("4 at most"));
}
