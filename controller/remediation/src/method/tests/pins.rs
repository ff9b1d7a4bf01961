//! What a person pins for one machine, and what a label may not.

use super::*;
use crate::facts::Node;

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";
const PDU: &str = "agent_name=fence_test\nip=pdu-a\nplug=3\nidentity=configured";

/// As check would have it, of a node with this label.
fn typed(entries: &[(&str, &str, &str)]) -> Result<ValidatedMethods, MethodDiagnostics> {
    let found = resolve("n1", Some("big"), entries)?;
    let agents =
        found.fence_agents().into_iter().map(|name| (name.to_owned(), Ok(FenceAgent::parse(XML).unwrap()))).collect();
    check(&found, &agents)
}

#[test]
fn a_types_configmap_names_no_machine() {
    for line in [format!("system_uuid={UUID}"), "outlets=pdu-a/3".to_owned()] {
        let steps = format!("power_management=pdu\n{line}");
        let entries = [
            ("fence-config-type-big", "config.properties", steps.as_str()),
            ("fence-config-type-big", "fence-method-pdu", PDU),
        ];
        let refusal = typed(&entries).unwrap_err().to_string();
        assert!(refusal.contains("chosen by a label; write it into config.properties of fence-config-n1"), "{refusal}");
    }
    let method = format!("{PDU}\nsystem-uuid={UUID}");
    let entries = [
        ("fence-config-type-big", "config.properties", "power_management=pdu"),
        ("fence-config-type-big", "fence-method-pdu", method.as_str()),
    ];
    let refusal = typed(&entries).unwrap_err().to_string();
    assert!(refusal.contains("write it into the ConfigMap fence-method-pdu-n1"), "{refusal}");
    // Nor by way of a template that the type's ConfigMap names.
    let entries = [
        ("fence-config-type-big", "config.properties", "power_management=pdu"),
        ("fence-config-type-big", "fence-method-pdu", "template=shared"),
        ("shared", "template.properties", method.as_str()),
    ];
    assert!(typed(&entries).is_err());
}

#[test]
fn a_nodes_own_configmap_that_only_pins_leaves_the_steps_to_the_type() {
    let from_label = [
        ("fence-config-type-big", "config.properties", "power_management=pdu"),
        ("fence-config-type-big", "fence-method-pdu", PDU),
    ];
    let refusal = typed(&from_label).unwrap().check_outlet_pins().unwrap_err();
    assert_eq!((refusal.line.as_str(), refusal.map.as_str()), ("outlets=pdu-a/3", "fence-config-n1"));
    let text = refusal.to_string();
    let what = "if that is so, write outlets=pdu-a/3 into config.properties of the ConfigMap fence-config-n1";
    assert!(text.contains(what), "{text}");
    let own = ("fence-config-node-n1", "config.properties", "node_name=n1\nsystem_uuid=x\noutlets=PDU-A/3");
    let validated = typed(&[from_label[0], from_label[1], own]).unwrap();
    assert_eq!(validated.check_outlet_pins(), Ok(()));
    assert_eq!(
        (validated.pins.map.as_str(), validated.pins.system_uuid.as_deref()),
        ("fence-config-node-n1", Some("x"))
    );
    // One with steps of its own, and one that is empty, are all that counts, as ever.
    for steps in ["outlets=pdu-a/3\nisolation=cordon", ""] {
        let own = ("fence-config-n1", "config.properties", steps);
        assert!(
            typed(&[from_label[0], from_label[1], own]).unwrap().power(Level::FIRST, AgentAction::Off).next().is_none(),
            "{steps}"
        );
    }
}

#[test]
fn a_plug_that_a_label_chose_is_accepted_by_the_nodes_own_word_alone() {
    let asked = "agent_name=fence_test\nip=cloud\nplug=i-1";
    let from_label = [
        ("fence-config-type-big", "config.properties", "power_management=vm"),
        ("fence-config-type-big", "fence-method-vm", asked),
    ];
    assert_eq!(typed(&from_label).unwrap().check_outlet_pins().unwrap_err().line, "outlets=cloud/i-1");
    let separate = ("fence-method-vm-n1", "method.properties", "port=i-1");
    let without = ("fence-config-type-big", "fence-method-vm", "agent_name=fence_test\nip=cloud");
    assert_eq!(
        typed(&[from_label[0], without, separate]).unwrap().check_outlet_pins(),
        Ok(()),
        "it was written for this node"
    );
}

#[test]
fn a_kubelets_uuid_contradicts_and_never_proves() {
    let node = |uuid: &str| Node { name: "n1".into(), system_uuid: uuid.into(), ..Node::default() };
    let pins = Pins { map: "m".into(), system_uuid: Some(UUID.into()), outlets: None };
    for reported in [UUID, "", "not a UUID", "33221100-5544-7766-8899-aabbccddeeff"] {
        assert_eq!(pins.check_reported_uuid(&node(reported)), Ok(()), "{reported}");
    }
    let refusal = pins.check_reported_uuid(&node("10112233-4455-6677-8899-aabbccddeeff")).unwrap_err();
    assert!(refusal.contains("10112233") && refusal.contains(UUID), "{refusal}");
    let zeros = Pins { system_uuid: Some("00000000-0000-0000-0000-000000000000".into()), ..pins };
    assert!(zeros.check_reported_uuid(&node(UUID)).unwrap_err().contains("names no machine"));
    let refusal = Pins::default().unpinned(&node(UUID), "00112233445566778899AABBCCDDEEFF\n");
    assert_eq!(refusal.line, format!("system_uuid={UUID}"));
}

#[test]
fn a_password_goes_to_the_hosts_that_the_options_name() {
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=pdu"),
        ("fence-config-n1", "fence-method-pdu", "agent_name=fence_test\nip=A.example\nplug=3"),
    ];
    let mut call = validated(&entries).unwrap().calls.remove("pdu").unwrap();
    // Options of other agents.
    let more = [("auth_url", "https://x"), ("metadata_endpoint", "m"), ("proxyhost", "p"), ("target", "0x24")];
    call.options.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(destinations(&call), ["https://x", "a.example", "m", "p", "0x24"], "in the order of their names");
    call.options.clear();
    assert_eq!(destinations(&call), ["fence_test"]);
    call.options.insert("proxyhost".into(), "p".into());
    assert_eq!(destinations(&call), ["p", "fence_test"], "and through it to the provider");
}

/// Fabric agents have plugs, too: the label could have chosen another node's port.
#[test]
fn a_plug_of_a_storage_that_a_label_chose_is_accepted_by_the_nodes_own_word_alone() {
    let san = "agent_name=fence_test\nip=switch\nidentity=configured\nstorage=fc";
    let with_plug = format!("{san}\nplug=7");
    let steps = ("fence-config-type-big", "config.properties", "power_management=san");
    let from_label = [steps, ("fence-config-type-big", "fence-method-san", with_plug.as_str())];
    assert_eq!(typed(&from_label).unwrap().check_outlet_pins().unwrap_err().line, "outlets=switch/7");
    let own = ("fence-config-n1", "config.properties", "outlets=switch/7");
    assert_eq!(typed(&[from_label[0], from_label[1], own]).unwrap().check_outlet_pins(), Ok(()));
    let other = ("fence-config-n1", "config.properties", "outlets=switch/8");
    assert!(typed(&[from_label[0], from_label[1], other]).unwrap().check_outlet_pins().is_err());
    // No method asks a switch whose port it is: which switch is chosen by the label as well.
    let port = ("fence-method-san-n1", "method.properties", "plug=7");
    let of_label = typed(&[steps, ("fence-config-type-big", "fence-method-san", san), port]).unwrap();
    assert_eq!(of_label.check_outlet_pins().unwrap_err().line, "outlets=switch/7");
    let whole = ("fence-method-san-n1", "method.properties", "ip=switch\nplug=7");
    assert_eq!(
        typed(&[steps, ("fence-config-type-big", "fence-method-san", san), whole]).unwrap().check_outlet_pins(),
        Ok(())
    );
}

/// Methods of isolation and recovery act, too, and a method may only turn on.
#[test]
fn a_plug_of_any_step_that_a_label_chose_is_accepted_by_the_nodes_own_word_alone() {
    for (steps, action) in [
        ("isolation=port\npower_management=pdu", "off"),
        ("recovery=port\npower_management=pdu", "on"),
        ("power_management=pdu port", "on"),
    ] {
        let port = format!("agent_name=fence_test\nip=switch\nplug=7\naction={action}");
        let from_label = [
            ("fence-config-type-big", "config.properties", steps),
            ("fence-config-type-big", "fence-method-port", port.as_str()),
            ("fence-config-type-big", "fence-method-pdu", PDU),
        ];
        let with =
            |outlets| [from_label[0], from_label[1], from_label[2], ("fence-config-n1", "config.properties", outlets)];
        let refusal = typed(&with("outlets=pdu-a/3")).unwrap().check_outlet_pins().unwrap_err();
        assert_eq!(refusal.line, "outlets=pdu-a/3 switch/7", "{steps}");
        assert_eq!(typed(&with("outlets=pdu-a/3 switch/7")).unwrap().check_outlet_pins(), Ok(()), "{steps}");
    }
}

/// What it acts on was chosen for the node, whether it can be asked or not: power alone is proven to be cut.
#[test]
fn another_steps_method_of_the_nodes_own_needs_no_pin() {
    let port = "agent_name=fence_test\nip=switch\nplug=7\nidentity=configured";
    let entries = [
        ("fence-config-n1", "config.properties", "system_uuid=x\nnode_name=n1\nisolation=port\npower_management=bmc"),
        ("fence-config-n1", "fence-method-port", port),
        ("fence-config-n1", "fence-method-bmc", "agent_name=fence_test\nip=bmc\nplug=1"),
    ];
    let found = validated(&entries).unwrap();
    assert_eq!((found.check_outlet_pins(), found.pins.system_uuid.as_deref()), (Ok(()), Some("x")));
}

/// A UUID proves whose machine loses its power; no other step asks for it. Nor is it known of an outlet whose it is.
#[test]
fn a_part_of_what_a_label_chose_is_accepted_by_the_nodes_own_word_alone() {
    let pinned = format!("system-uuid={UUID}");
    for (of_label, own) in [("ip=switch", "plug=7"), ("ip=switch\nplug=7", pinned.as_str())] {
        let port = format!("agent_name=fence_test\naction=off\n{of_label}");
        let entries = [
            ("fence-config-type-big", "config.properties", "isolation=port\npower_management=pdu"),
            ("fence-config-type-big", "fence-method-port", port.as_str()),
            ("fence-config-type-big", "fence-method-pdu", PDU),
            ("fence-config-n1", "config.properties", "outlets=pdu-a/3"),
            ("fence-method-port-n1", "method.properties", own),
        ];
        let refusal = typed(&entries).unwrap().check_outlet_pins().unwrap_err();
        assert_eq!(refusal.line, "outlets=pdu-a/3 switch/7", "{of_label}");
    }
    let vm = [
        ("fence-config-type-big", "config.properties", "power_management=vm"),
        ("fence-config-type-big", "fence-method-vm", "agent_name=fence_test\nip=cloud\nplug=i-1"),
        ("fence-method-vm-n1", "method.properties", pinned.as_str()),
    ];
    assert_eq!(typed(&vm).unwrap().check_outlet_pins(), Ok(()), "its UUID is asked for");
}

/// Two machines of one HMC may have a partition of the same name; `fence_scsi` acts on `key` before `plug`.
#[test]
fn all_by_which_a_label_could_choose_another_machine_is_in_the_line() {
    let entries = [
        ("fence-config-type-big", "config.properties", "power_management=pdu"),
        ("fence-config-type-big", "fence-method-pdu", PDU),
    ];
    let mut validated = typed(&entries).unwrap();
    let call = validated.calls.get_mut("pdu").unwrap();
    call.options.extend([("managed".to_owned(), "Rack 2".to_owned()), ("key".to_owned(), "A1".to_owned())]);
    assert_eq!(validated.check_outlet_pins().unwrap_err().line, "outlets=pdu-a/3", "the node's own");
    validated.calls.get_mut("pdu").unwrap().from_label.extend(["managed".to_owned(), "key".to_owned()]);
    assert_eq!(validated.check_outlet_pins().unwrap_err().line, "outlets=pdu-a/3/rack_2");
    validated.calls.get_mut("pdu").unwrap().agent = "fence_scsi".to_owned();
    assert_eq!(validated.check_outlet_pins().unwrap_err().line, "outlets=pdu-a/3/a1/rack_2");
}

/// Another program may listen at another port of the host.
#[test]
fn a_secret_is_bound_to_an_unusual_port() {
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=pdu"),
        ("fence-config-n1", "fence-method-pdu", "agent_name=fence_test\nip=a\nplug=3"),
    ];
    let mut call = validated(&entries).unwrap().calls.remove("pdu").unwrap();
    for (ip, port, bound) in [
        ("a", "443", "a"),
        ("a", "2222", "a:2222"),
        ("fd00::1", "2222", "[fd00::1]:2222"),
        ("[fd00::1]", "2222", "[fd00::1]:2222"),
    ] {
        call.options.extend([("ip".to_owned(), ip.to_owned()), ("ipport".to_owned(), port.to_owned())]);
        assert_eq!(destinations(&call), [bound]);
    }
}
