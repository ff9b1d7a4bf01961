//! Methods from ConfigMaps, by example and by law.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

mod levels;
mod lines;
mod metadata;
mod pins;
mod traps;

const XML: &str = r#"<?xml version="1.0" ?>
<resource-agent name="fence_test" shortdesc="A test's">
<parameters>
 <parameter name="action" required="1"><getopt mixed="-o, --action=[action]"/><content type="string" default="reboot"/></parameter>
 <parameter name="ip" required="1" obsoletes="ipaddr"><getopt mixed="-a, --ip=[ip]"/><content type="string"/></parameter>
 <parameter name="ipaddr" required="1" deprecated="1"><getopt mixed="-a, --ip=[ip]"/><content type="string"/></parameter>
 <parameter name="plug" required="1" obsoletes="port"><getopt mixed="-n, --plug=[id]"/><content type="string"/></parameter>
 <parameter name="port" required="1" deprecated="1"><getopt mixed="-n, --plug=[id]"/><content type="string"/></parameter>
 <parameter name="login" deprecated="1"><getopt mixed="-l, --username=[name]"/><content type="string"/></parameter>
 <parameter name="username" obsoletes="login"><getopt mixed="-l, --username=[name]"/><content type="string"/></parameter>
 <parameter name="password"><getopt mixed="-p, --password=[password]"/><content type="string"/></parameter>
 <parameter name="password_script"><getopt mixed="-S, --password-script=[script]"/><content type="string"/></parameter>
 <parameter name="ssl-insecure" ><getopt mixed="--ssl-insecure"/><content type="boolean"/></parameter>
 <parameter name="privlvl"><getopt mixed="-L, --privlvl=[level]"/><content type="select"><option value="user"/><option value="operator"/></content></parameter>
 <parameter name="ipport"><getopt mixed="-u, --ipport=[port]"/><content type="integer" default="443"/></parameter>
 <parameter name="power_timeout"><getopt mixed="--power-timeout=[seconds]"/><content type="second" default="20"/></parameter>
 <parameter name="power_wait"><getopt mixed="--power-wait=[seconds]"/><content type="second" default="0"/></parameter>
 <parameter name="ipmitool_path"><getopt mixed="--ipmitool-path=[path]"/><content type="string" default="/usr/bin/ipmitool"/></parameter>
 <parameter name="debug_file"><getopt mixed="-D, --debug-file=[file]"/><content type="string"/></parameter>
</parameters>
<actions><action name="on" automatic="0"/><action name="off"/><action name="reboot"/><action name="status"/></actions>
</resource-agent>"#;

fn maps(entries: &[(&str, &str, &str)]) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut maps: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for (map, key, text) in entries {
        maps.entry((*map).to_owned()).or_default().insert((*key).to_owned(), (*text).to_owned());
    }
    maps
}

/// Looks up what is asked for, as long as something is.
fn resolve(node: &str, kind: Option<&str>, entries: &[(&str, &str, &str)]) -> Result<NodeMethods, MethodDiagnostics> {
    let (maps, mut known) = (maps(entries), KnownConfigMaps::new());
    let labels = kind.map(|kind| ("type".to_owned(), kind.to_owned())).into_iter().collect();
    for _ in 0..8 {
        match read(node, &labels, &known) {
            Read::Need(names) => {
                assert!(!names.is_empty() && names.iter().all(|name| !known.contains_key(name)), "asked twice");
                known.extend(names.into_iter().map(|name| (name.clone(), maps.get(&name).cloned())));
            }
            Read::Methods(found) => return Ok(*found),
            Read::Refused(diagnostics) => return Err(diagnostics),
        }
    }
    panic!("it asks for ever")
}

fn validated(entries: &[(&str, &str, &str)]) -> Result<ValidatedMethods, MethodDiagnostics> {
    validated_of("n1", entries)
}

fn validated_of(node: &str, entries: &[(&str, &str, &str)]) -> Result<ValidatedMethods, MethodDiagnostics> {
    let found = resolve(node, None, entries)?;
    let agents =
        found.fence_agents().into_iter().map(|name| (name.to_owned(), Ok(FenceAgent::parse(XML).unwrap()))).collect();
    check(&found, &agents)
}

/// What is wrong with a method of these lines.
fn wrong_with(lines: &str) -> String {
    let text = format!("agent_name=fence_test\nip=1.2.3.4\nplug=3\n{lines}");
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=pdu"),
        ("fence-config-n1", "fence-method-pdu", text.as_str()),
    ];
    validated(&entries).map_err(|diagnostics| diagnostics.to_string()).unwrap_err()
}

#[test]
fn the_proposals_example_is_read_with_its_template() {
    let entries = [
        ("fence-cluster-config", "config.properties", "grace_timeout=7\ngiveup_retries=3\npolicies=half\nroles=a b"),
        ("fence-policy-half", "config.properties", "policy_name=half\nprecentage=50"),
        (
            "fence-config-n1",
            "config.properties",
            "# ours\nnode_name = n1\nisolation=mark-unschedulable\npower_management=fence-method-eaton clean-pods\nrecovery=mark-unschedulable",
        ),
        ("fence-method-eaton-n1", "method.properties", "template=fence-method-template-eaton\nplug=3\npower-timeout=9"),
        (
            "fence-method-template-eaton",
            "template.properties",
            "name=eaton\nagent_name=fence-test\nmust_sucess=yes\nipaddr=1.2.3.4\nplug=99\nusername=a=b",
        ),
    ];
    let found = resolve("n1", None, &entries).unwrap();
    assert_eq!(found.cluster.policies, [FencePolicy { name: "half".into(), percentage: Some(50) }]);
    assert_eq!((found.cluster.grace_timeout.as_secs(), found.cluster.giveup_retries), (7, 3));
    let validated = validated(&entries).unwrap();
    assert_eq!(validated.names(Level::FIRST), ["eaton", "clean-pods"]);
    assert_eq!(validated.recovery, ["uncordon"], "the proposal's default means the opposite of what it says");
    let call = &validated.calls["eaton"];
    let options: Vec<(&str, &str)> = call.options.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(options, [("ip", "1.2.3.4"), ("plug", "3"), ("power_timeout", "9"), ("username", "a=b")]);
    assert_eq!((call.agent.as_str(), call.longest.as_secs()), ("fence_test", 28));
    assert_eq!(call.secret, "secret-fence-method-eaton-n1");
    assert!(validated.notes.iter().any(|note| note.contains("write ip")), "{:?}", validated.notes);
    let idle = "fence-cluster-config: grace_timeout, giveup_retries, percentage of fence-policy-half has no effect";
    assert!(validated.notes.iter().any(|note| note.starts_with(idle)), "{:?}", validated.notes);
}

#[test]
fn the_nodes_own_words_come_before_the_methods_and_a_types_after() {
    let method = ("fence-method-pdu-n1", "method.properties", "agent_name=fence_test\nplug=2\nip=2");
    let own = [
        ("fence-config-node-n1", "config.properties", "power_management=pdu"),
        ("fence-config-node-n1", "fence-method-pdu", "plug=1"),
        ("fence-config-type-big", "config.properties", "power_management=other"),
        method,
    ];
    let plug = |found: &NodeMethods| found.methods["pdu"].options["plug"].value.clone();
    assert_eq!(plug(&resolve("n1", Some("big"), &own).unwrap()), "1");
    let from_label = [
        ("fence-config-type-big", "config.properties", "power_management=pdu"),
        ("fence-config-type-big", "fence-method-pdu", "plug=1"),
        method,
    ];
    assert_eq!(plug(&resolve("n1", Some("big"), &from_label).unwrap()), "2");
}

#[test]
fn a_node_without_any_configuration_has_no_method_for_its_power() {
    let found = resolve("n1", Some("big"), &[]).unwrap();
    assert_eq!(
        (found.source.as_deref(), found.power_management.as_slice()),
        (None, &["restart-instance".to_owned()][..])
    );
    let validated = validated(&[]).unwrap();
    assert!(
        validated.names(Level::FIRST).is_empty() && validated.power(Level::FIRST, AgentAction::Off).next().is_none()
    );
}

#[test]
fn every_mistake_is_reported_at_once_with_its_line() {
    let entries = [
        ("fence-cluster-config", "config.properties", "grace_timeout=soon\npolicys=x"),
        ("fence-config-n1", "config.properties", "node_name=n2\npower_management=pdu pdu gone\nno equals"),
        ("fence-config-n1", "fence-method-pdu", "agent_name=/bin/sh\naction=monitor\nsecret=kube-root\nidentity=yes"),
        ("fence-config-n1", "fence-method-unused", "agent_name=fence_test"),
        ("fence-config-n1", "other", ""),
    ];
    let error = resolve("n1", None, &entries).unwrap_err().to_string();
    for expected in [
        "fence-cluster-config/config.properties:1: grace_timeout is soon",
        "fence-cluster-config/config.properties:2: policys is not known",
        "config.properties:1: node_name is n2",
        "config.properties:2: pdu is named twice",
        "config.properties:3: no = in this line",
        "there is no ConfigMap fence-method-gone-n1",
        "fence-method-pdu:1: agent_name is /bin/sh",
        "fence-method-pdu:2: action is monitor",
        "fence-method-pdu:3: secret is kube-root",
        "fence-method-pdu:4: identity is yes",
        "no step names the method unused",
        "the key other is not known",
    ] {
        assert!(error.contains(expected), "{expected} is not in: {error}");
    }
}

#[test]
fn options_are_held_to_the_agents_metadata() {
    for (lines, expected) in [
        ("methd=onoff", "fence_test has no option methd; `fence_test -o metadata` has them all"),
        ("power_timeout=long", "power_timeout is long, not a whole number"),
        ("power_timeout=-1", "not a whole number"),
        ("ipport=84430", "ipport is \"84430\", which is no port; write a number"),
        ("power_timeout=6000", "more than 600 s"),
        ("ssl_insecure=maybe", "ssl_insecure is maybe"),
        ("privlvl=root", "privlvl is root; there are user, operator"),
        ("password=secret", "password is a secret; put it into the method's Secret"),
        ("ipmitool_path=/tmp/x", "ipmitool_path may not be set here"),
        ("debug-file=/etc/x", "debug_file may not be set here"),
        ("ipaddr=5.6.7.8", "and another name of ip are both given"),
        ("must_sucess=no", "every method must succeed"),
        ("script_path=/x.sh", "script_path is not run"),
        ("username=a\u{7}b", "a control character"),
        ("username=a\u{202e}b", "or one that is not seen, in the value of username"),
        ("username=ad\u{200b}min", "or one that is not seen, in the value of username"),
    ] {
        let error = wrong_with(lines);
        assert!(error.contains(expected), "{lines}: {expected} is not in: {error}");
        assert!(!error.contains("=secret") && !error.contains(" secret "), "{error}");
    }
}

#[test]
fn what_an_agent_needs_has_to_be_given() {
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=pdu"),
        ("fence-config-n1", "fence-method-pdu", "agent_name=fence_test\nip=1"),
    ];
    assert!(validated(&entries).unwrap_err().to_string().contains("needs the option plug"));
}

#[test]
fn a_password_script_stands_for_the_secret() {
    let text = "agent_name=fence_test\nip=1\nplug=1\npassword-script=/usr/sbin/fetch_passwd";
    let entries =
        [("fence-config-n1", "config.properties", "power_management=a"), ("fence-config-n1", "fence-method-a", text)];
    let validated = validated(&entries).unwrap();
    assert!(validated.calls["a"].secret_needed && !validated.calls["a"].options.contains_key("password_script"));
}

#[test]
fn an_agent_that_is_not_there_or_unfit_refuses_the_configuration() {
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=a"),
        ("fence-config-n1", "fence-method-a", "agent_name=fence_gone"),
    ];
    let found = resolve("n1", None, &entries).unwrap();
    let agents = BTreeMap::from([("fence_gone".to_owned(), Err("not run: no such file".to_owned()))]);
    assert!(check(&found, &agents).unwrap_err().to_string().contains("fence_gone: not run"));
    let fabric = XML.replace("<action name=\"reboot\"/>", "");
    let of = |xml: &str| BTreeMap::from([("fence_gone".to_owned(), Ok(FenceAgent::parse(xml).unwrap()))]);
    assert!(check(&found, &of(&fabric)).unwrap_err().to_string().contains("add storage=DRIVER"));
    let blind = XML.replace("<action name=\"status\"/>", "");
    assert!(check(&found, &of(&blind)).unwrap_err().to_string().contains("cannot do status"));
}

#[test]
fn a_method_for_a_storage_makes_the_whole_plan_one_for_it() {
    let text = "agent_name=fence_test\nip=1\nplug=n1\nstorage=san.example.com";
    let storage = [
        ("fence-config-n1", "config.properties", "power_management=san"),
        ("fence-config-n1", "fence-method-san", text),
    ];
    assert_eq!(validated(&storage).unwrap().storage_only.as_deref(), Some("san.example.com"));
    let mixed = [
        ("fence-config-n1", "config.properties", "power_management=san pdu"),
        ("fence-config-n1", "fence-method-san", text),
        ("fence-config-n1", "fence-method-pdu", "agent_name=fence_test\nip=1\nplug=1"),
    ];
    assert!(validated(&mixed).unwrap_err().to_string().contains("are mixed"));
}

#[test]
fn off_and_on_may_be_two_methods() {
    let options = |action: &str| format!("agent_name=fence_test\nip=1\nplug=1\n{action}");
    let (off, on) = (options("action=off"), options("action=on"));
    let pair = [
        ("fence-config-n1", "config.properties", "power_management=down up"),
        ("fence-config-n1", "fence-method-down", off.as_str()),
        ("fence-config-n1", "fence-method-up", on.as_str()),
    ];
    let names = |validated: &ValidatedMethods, act| {
        validated.power(Level::FIRST, act).map(|call| call.name.clone()).collect::<Vec<_>>()
    };
    let validated_pair = validated(&pair).unwrap();
    assert_eq!(
        (names(&validated_pair, AgentAction::Off), names(&validated_pair, AgentAction::On)),
        (vec!["down".into()], vec!["up".into()])
    );
    assert_eq!(names(&validated_pair, AgentAction::Status), ["down"]);
    let reboot = options("action=reboot");
    let single = [
        ("fence-config-n1", "config.properties", "power_management=a"),
        ("fence-config-n1", "fence-method-a", &*reboot),
    ];
    let single = validated(&single).unwrap();
    assert_eq!(
        (names(&single, AgentAction::Off), names(&single, AgentAction::On)),
        (vec!["a".into()], vec!["a".into()])
    );
}

#[test]
fn two_nodes_on_one_plug_are_told_for_both() {
    let with = |node: &str, lines: &str| {
        let (map, text) = (format!("fence-config-{node}"), format!("agent_name=fence_test\n{lines}"));
        validated_of(node, &[(&map, "config.properties", "power_management=a"), (&map, "fence-method-a", &text)])
            .unwrap()
    };
    let mut plugs = Plugs::default();
    let (one, other) = (with("n1", "ip=PDU.example.com\nplug=3"), with("n2", "ip=pdu.example.com\nport=4"));
    plugs.set(&one);
    plugs.set(&other);
    assert_eq!([&one, &other].map(|of| plugs.check_unshared(of, Level::FIRST)), [Ok(()), Ok(())]);
    let same = with("n2", "ip=pdu.example.com\nport=3");
    plugs.set(&same);
    for node in [&one, &same] {
        let error = plugs.check_unshared(node, Level::FIRST).unwrap_err();
        assert!(error.contains("n1") && error.contains("n2"), "{error}");
    }
    plugs.forget("n2");
    assert_eq!(plugs.check_unshared(&one, Level::FIRST), Ok(()));
}

#[test]
fn hostile_metadata_is_refused() {
    for xml in [
        "",
        "no xml",
        "<html/>",
        "<resource-agent name='x'><parameters/></resource-agent>",
        "<!DOCTYPE a [<!ENTITY b \"bb\">]><resource-agent><actions><action name='&b;'/></actions></resource-agent>",
    ] {
        assert!(FenceAgent::parse(xml).is_err(), "{xml}");
    }
    let deep = format!("<resource-agent>{}", "<a>".repeat(50_000));
    assert!(FenceAgent::parse(&deep).is_err());
    assert!(matches!(FenceAgent::parse(&" ".repeat(300_000)), Err(MetadataError::Long(_))));
}

#[test]
fn a_guid_is_the_same_in_each_order_of_bytes() {
    let node = "00112233-4455-6677-8899-AABBCCDDEEFF";
    for bmc in [
        " 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff\n",
        "ffeeddcc-bbaa-9988-7766-554433221100",
        "33221100-5544-7766-8899-aabbccddeeff",
    ] {
        assert_eq!(compare(bmc, node), Ok(()), "{bmc}");
    }
    assert!(matches!(compare("00112233445566778899aabbccddeefe", node), Err(Unproven::Mismatch { .. })));
    for nothing in ["", "00000000-0000-0000-0000-000000000000", "ffffffffffffffffffffffffffffffff", "not a guid"] {
        assert!(matches!(compare(nothing, node), Err(Unproven::BmcUnknown(_))), "{nothing}");
        assert!(matches!(compare(node, nothing), Err(Unproven::NodeUnknown(_))), "{nothing}");
    }
}

proptest! {
    /// Whatever is in a ConfigMap: it is read or refused, and what may be run has no line end in it.
    #[test]
    fn any_text_is_read_or_refused(config in "\\PC{0,80}(\n\\PC{0,40}){0,3}", method in "([a-z_-]{1,12}=\\PC{0,20}\n){0,6}") {
        let text = format!("agent_name=fence_test\nip=1\nplug=1\n{method}");
        let config = format!("power_management=a\n{config}");
        let entries = [("fence-config-n1", "config.properties", config.as_str()), ("fence-config-n1", "fence-method-a", text.as_str())];
        if let Ok(validated) = validated(&entries) {
            for call in validated.calls.values() {
                prop_assert!(call.options.values().all(|value| !value.contains(['\n', '\r', '\0'])));
            }
        }
    }

    /// Another machine's GUID is never taken for this one's.
    #[test]
    fn one_changed_byte_is_another_machine(bytes in prop::array::uniform16(1u8..), at in 0usize..16, by in 1u8..) {
        let hex = |bytes: [u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut other = bytes;
        other[at] ^= by;
        prop_assert!(compare(&hex(other), &hex(bytes)).is_err());
    }

    #[test]
    fn any_metadata_is_read_or_refused(xml in "\\PC{0,200}", cut in 0usize..2000) {
        let _ = FenceAgent::parse(&xml);
        let _ = FenceAgent::parse(XML.get(..cut).unwrap_or(XML));
    }
}
