//! `power_management.2` to `.9`: what the first level gives way to.

use super::*;

const BMC: &str = "agent_name=fence_test\nip=bmc\nplug=1";
const A: &str = "agent_name=fence_test\nip=pdu-a\nplug=3\nidentity=configured";
const B: &str = "agent_name=fence_test\nip=pdu-b\nplug=3\nidentity=configured";

fn configured(config: &str) -> Result<ValidatedMethods, MethodDiagnostics> {
    let all = [("bmc", BMC), ("pdu-a", A), ("pdu-b", B)];
    let keys: Vec<String> = all.iter().map(|(name, _)| format!("fence-method-{name}")).collect();
    let named = all.iter().zip(&keys).filter(|((name, _), _)| config.contains(name));
    let methods = named.map(|((_, text), key)| ("fence-config-n1", key.as_str(), *text));
    let entries: Vec<_> = std::iter::once(("fence-config-n1", "config.properties", config)).chain(methods).collect();
    validated_of("n1", &entries)
}

fn refused(config: &str) -> String {
    configured(config).unwrap_err().to_string()
}

#[test]
fn levels_stand_in_the_order_of_their_numbers() {
    let validated = configured("power_management.2=pdu-a pdu-b\npower_management=bmc").unwrap();
    assert_eq!(validated.levels, [vec!["bmc"], vec!["pdu-a", "pdu-b"]]);
    let names =
        |level, action| -> Vec<String> { validated.power(level, action).map(|call| call.name.clone()).collect() };
    assert_eq!(names(Level(1), AgentAction::Off), ["bmc"]);
    assert_eq!(names(Level(2), AgentAction::Status), ["pdu-a", "pdu-b"]);
    assert!(names(Level(3), AgentAction::Off).is_empty());
    assert_eq!(validated.power_of_all(AgentAction::Off).count(), 3);
    assert!(validated.asks_machine(Level(1)) && !validated.asks_machine(Level(2)) && !validated.asks_machine(Level(3)));
    let longest = [1, 2, 3].map(|level| validated.longest(Level(level)).as_secs());
    assert_eq!(longest, [50, 100, 0], "one after the other");
    assert_eq!(validated.numbered().collect::<Vec<_>>(), [Level(1), Level(2)]);
    // One level, as ever.
    let single = configured("power_management=bmc").unwrap();
    assert_eq!((single.levels.len(), single.numbered().count()), (1, 1));
}

/// One power supply that is forgotten leaves the machine on, and its Off would prove nothing.
#[test]
fn a_level_turns_off_every_outlet_of_the_machine() {
    let refusal = refused("power_management=pdu-a pdu-b\npower_management.2=pdu-a");
    assert!(refusal.contains("level 2 leaves pdu-b/3 on"), "{refusal}");
    let refusal = refused("power_management=pdu-a\npower_management.2=pdu-b");
    assert!(
        refusal.contains("level 1 leaves pdu-b/3 on") && refusal.contains("level 2 leaves pdu-a/3 on"),
        "{refusal}"
    );
    // A BMC turns off all of it.
    assert!(configured("power_management=bmc\npower_management.2=pdu-a pdu-b").is_ok());
    assert!(configured("power_management=pdu-a pdu-b\npower_management.2=bmc").is_ok());
    assert!(configured("power_management=bmc pdu-a pdu-b\npower_management.2=pdu-a pdu-b").is_ok());
}

/// No check knows what feeds the BMC.
#[test]
fn a_level_of_a_bmc_and_outlets_has_a_note() {
    for (config, noted) in [
        ("power_management=pdu-a pdu-b bmc", true),
        ("power_management=bmc\npower_management.2=pdu-a pdu-b", false),
        ("power_management=pdu-a pdu-b", false),
        ("power_management=bmc", false),
    ] {
        let notes = configured(config).unwrap().notes;
        assert_eq!(notes.iter().any(|note| note.contains("level 1 has outlets beside")), noted, "{config}: {notes:?}");
    }
}

#[test]
fn a_pin_names_the_outlets_of_all_levels() {
    let steps = "power_management=bmc\npower_management.2=pdu-a pdu-b";
    let unpinned = configured(steps).unwrap().check_outlet_pins().unwrap_err();
    assert_eq!(unpinned.line, "outlets=pdu-a/3 pdu-b/3");
    let pinned = |outlets: &str| configured(&format!("{steps}\noutlets={outlets}")).unwrap().check_outlet_pins();
    assert_eq!(pinned("pdu-a/3 pdu-b/3"), Ok(()));
    assert!(pinned("pdu-a/3").is_err(), "one of them is not confirmed");
    assert!(pinned("pdu-a/3 pdu-b/3 pdu-c/1").is_err(), "a supply that no level turns off");
}

/// Each of these methods, with what it is for.
fn refused_with(config: &str, methods: &[(&str, &str)]) -> String {
    let keys: Vec<String> = methods.iter().map(|(name, _)| format!("fence-method-{name}")).collect();
    let methods = methods.iter().zip(&keys).map(|((_, text), key)| ("fence-config-n1", key.as_str(), *text));
    let entries: Vec<_> = std::iter::once(("fence-config-n1", "config.properties", config)).chain(methods).collect();
    validated_of("n1", &entries).unwrap_err().to_string()
}

#[test]
fn a_level_turns_something_off() {
    let on = format!("{BMC}\naction=on");
    let config = "power_management=bmc\npower_management.2=up";
    let refusal = refused_with(config, &[("bmc", BMC), ("up", &on)]);
    assert!(refusal.contains("power_management.2: none of its methods turns off"), "{refusal}");
    // Of one that is wrong that is not known.
    let wrong = format!("{BMC}\nmethd=onoff");
    let refusal = refused_with(config, &[("bmc", BMC), ("up", &wrong)]);
    assert!(refusal.contains("has no option methd") && !refusal.contains("turns off"), "{refusal}");
}

/// What only turns on proves no Off.
#[test]
fn a_level_relies_on_outlets_whatever_turns_the_machine_on() {
    let (down, up) = (format!("{A}\naction=off"), format!("{BMC}\naction=on"));
    let config = "power_management=down up\npower_management.2=pdu-a pdu-b";
    let refusal = refused_with(config, &[("down", &down), ("up", &up), ("pdu-a", A), ("pdu-b", B)]);
    assert!(refusal.contains("level 1 leaves pdu-b/3 on"), "{refusal}");
}

#[test]
fn what_is_no_level_is_refused_with_what_to_do() {
    for (config, part) in [
        (
            "power_management=bmc\npower_management.1=pdu-a",
            "power_management.1 is no level; power_management is the first",
        ),
        ("power_management=bmc\npower_management.10=pdu-a", "power_management.10 is no level"),
        ("power_management=bmc\npower_management.x=pdu-a", "power_management.x is no level"),
        (
            "power_management=bmc\npower_management.3=pdu-a",
            "there is no power_management.2; number the levels without gaps",
        ),
        ("power_management=bmc\npower_management.2=", "power_management.2 is empty"),
        ("power_management.2=bmc", "power_management, the first level, names no method"),
        ("power_management=bmc\npower_management.2=clean-pods", "clean-pods turns nothing off"),
        ("power_management=bmc\npower_management.2=bmc", "power_management.2: it has the methods of level 1"),
        ("power_management=bmc\npower_management.2=pdu-a pdu-a", "pdu-a is named twice"),
        ("isolation=pdu-a\npower_management=bmc\npower_management.2=pdu-a", "it is in more than one step"),
    ] {
        let refusal = refused(config);
        assert!(refusal.contains(part), "{config}: {refusal}");
    }
}

#[test]
fn a_storage_has_no_levels() {
    let san = "agent_name=fence_test\nplug=1\nip=san\nstorage=csi.example.com\nidentity=configured";
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=san\npower_management.2=san bmc"),
        ("fence-config-n1", "fence-method-san", san),
        ("fence-config-n1", "fence-method-bmc", BMC),
    ];
    assert!(validated_of("n1", &entries).unwrap_err().to_string().contains("are mixed"));
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=san\npower_management.2=other"),
        ("fence-config-n1", "fence-method-san", san),
        ("fence-config-n1", "fence-method-other", san),
    ];
    let refusal = validated_of("n1", &entries).unwrap_err().to_string();
    assert!(refusal.contains("methods with storage= have no further level"), "{refusal}");
}
