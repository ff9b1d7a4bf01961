//! `[repair]`: what arrives, and what is refused.

use super::*;

#[test]
fn units_are_read_and_take_the_place_of_the_usual_ones() {
    let text = r#"
        [repair]
        enabled = true
        [[repair.unit]]
        unit = "kubelet.service"
        condition = "KubeletUnhealthy"
        way = "SIGTERM"
        dump = "SIGUSR1"
        max-attempts = 2
    "#;
    let resolved = read(text).unwrap().repair;
    assert!(resolved.enabled);
    assert_eq!(resolved.units.len(), 1);
    assert_eq!((resolved.units[0].unit.as_str(), resolved.units[0].max_attempts), ("kubelet.service", 2));
}

#[test]
fn every_error_is_reported_with_its_line() {
    let text = "[[repair.unit]]\nunit = \"dbus.service\"\ncondition = \"A\"\nway = \"SIGSEGV\"\n[[repair.unit]]\nunit = \"kube*\"\nwindow = \"1s\"";
    let messages = diagnostics(text);
    let has = |text: &str| assert!(messages.iter().any(|line| line.contains(text)), "{text}: {messages:#?}");
    has("nodewell.toml:2: dbus.service is needed for the repair itself");
    has("nodewell.toml:4: \"SIGSEGV\" is none of SIGABRT");
    has("nodewell.toml:6: \"unit\" takes a service's whole name");
    has("\"condition\"");
    has("nodewell.toml:7: \"window\" is from 1m");
}
