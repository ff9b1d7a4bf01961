//! What agents accept without an error and should not be given.

use super::*;

/// `XML` with more parameters, which agents of fence-agents 4.12 have by these names.
pub(super) fn with(parameters: &str) -> FenceAgent {
    let more = format!("{parameters}</parameters>");
    FenceAgent::parse(&XML.replace("</parameters>", &more)).unwrap()
}

pub(super) fn parameter(name: &str, mixed: &str) -> String {
    format!(r#"<parameter name="{name}"><getopt mixed="{mixed}"/><content type="string"/></parameter>"#)
}

/// One method `a` of power management of `n1`, of this agent and with these lines.
pub(super) fn checked(name: &str, agent: &FenceAgent, lines: &str) -> Result<ValidatedMethods, MethodDiagnostics> {
    let text = format!("agent_name={name}\n{lines}");
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=a"),
        ("fence-config-n1", "fence-method-a", text.as_str()),
    ];
    check(&resolve("n1", None, &entries).unwrap(), &[(name.to_owned(), Ok(agent.clone()))].into())
}

#[test]
fn an_option_that_runs_a_program_or_has_an_agent_lie_is_refused_with_its_reason() {
    for (option, expected) in [
        ("runonwarn", "runs a program"),
        ("runonfail", "runs a program"),
        ("openrc", "runs the file"),
        ("exec", "runs a program"),
        ("ssh_options", "ProxyCommand"),
        ("uuid", "another machine than plug"),
        ("plugzonemap", "which machine is meant"),
        ("network-fencing", "while it runs"),
        ("missing_as_off", "not found for one that is off"),
        ("baremetalsolution", "without asking"),
        ("disable_timeout", "leave it away"),
        ("port_as_ip", "two nodes on one plug"),
    ] {
        let agent = with(&parameter(option, &format!("--{}=[x]", option.replace('_', "-"))));
        let refusal = checked("fence_test", &agent, &format!("ip=1\nplug=1\n{option}=1")).unwrap_err().to_string();
        assert!(refusal.contains("fence-config-n1/fence-method-a:4:"), "{refusal}");
        assert!(refusal.contains("may not be set here: ") && refusal.contains(expected), "{option}: {refusal}");
        let validated = checked("fence_test", &agent, "ip=1\nplug=1").unwrap();
        let named = option.replace('-', "_");
        assert!(
            !validated.calls["a"].secret_keys.values().any(|name| *name == named),
            "not by the Secret either: {option}"
        );
    }
}

#[test]
fn agents_that_do_not_touch_the_power_are_none() {
    for name in ["fence_crosslink", "fence_compute", "fence_evacuate", "fence_kdump", "fence_dummy", "fence_sbd"] {
        let refusal = checked(name, &with(""), "ip=1\nplug=1").unwrap_err().to_string();
        assert!(refusal.contains("proves nothing about a node's power"), "{name}: {refusal}");
    }
}

/// As `fence_zvmip` does, and takes no other word for it.
#[test]
fn an_agent_that_takes_what_it_does_not_find_for_off_is_none() {
    let with_default = |default: &str| {
        let content = format!(r#"<content type="boolean" default="{default}"/>"#);
        let getopt = r#"<getopt mixed="--missing-as-off"/>"#;
        with(&format!(r#"<parameter name="missing_as_off">{getopt}{content}</parameter>"#))
    };
    let refusal = checked("fence_test", &with_default("1"), "ip=1\nplug=1").unwrap_err().to_string();
    assert!(refusal.contains("takes a machine that it does not find for one that is off"), "{refusal}");
    for default in ["", "0", "false"] {
        assert!(checked("fence_test", &with_default(default), "ip=1\nplug=1").is_ok(), "{default}");
    }
}

#[test]
fn a_plug_that_only_means_the_address_does_not_make_two_of_one() {
    let agent = FenceAgent::parse(
        &XML.replace("--plug=[id]", "--plug=[ip]").replace(r#"name="plug" required="1""#, r#"name="plug""#),
    )
    .unwrap();
    let of = |node: &str, plug: &str| {
        let mut validated = checked("fence_test", &agent, &format!("ip=1\nport={plug}")).unwrap();
        assert!(!validated.calls["a"].options.contains_key("plug"));
        assert!(
            validated.notes.iter().any(|note| note.contains("says nothing to fence_test")),
            "{:?}",
            validated.notes
        );
        node.clone_into(&mut validated.node);
        validated
    };
    let mut plugs = Plugs::default();
    let one = of("n1", "1");
    plugs.set(&one);
    plugs.set(&of("n2", "2"));
    assert!(plugs.check_unshared(&one, Level::FIRST).is_err());
    // With port_as_ip it might do without, by the metadata.
    let may_lack =
        FenceAgent::parse(&XML.replace("--plug=[id]", "--plug=[ip]").replace(r#"required="1""#, "")).unwrap();
    assert!(checked("fence_test", &may_lack, "plug=1").unwrap_err().to_string().contains("needs the option ip"));
    assert!(checked("fence_test", &may_lack, "ip=1\nplug=1").is_ok());
}

#[test]
fn one_of_several_plugs_is_enough_to_be_turned_off_together() {
    let agent = with(&parameter("plug_separator", "--plug-separator=[char]"));
    let of = |node: &str, lines: &str| {
        let mut validated = checked("fence_test", &agent, &format!("ip=1\n{lines}")).unwrap();
        node.clone_into(&mut validated.node);
        validated
    };
    for (both, one, alone) in [
        ("plug=1,2", "plug=2", false),
        ("plug=1, 2", "plug=2", false),
        ("plug=1,2", "plug=3,1", false),
        ("plug=1,2", "plug=3", true),
        ("plug=1;2\nplug_separator=;", "plug=2", false),
        ("plug=1,2\nplug_separator=;", "plug=2", true),
    ] {
        let mut plugs = Plugs::default();
        let several = of("n1", both);
        plugs.set(&several);
        plugs.set(&of("n2", one));
        assert_eq!(plugs.check_unshared(&several, Level::FIRST).is_ok(), alone, "{both} and {one}");
    }
}

/// A key that was copied from one node's ConfigMap to another's cuts both off.
#[test]
fn two_nodes_with_one_name_at_a_storage_are_cut_off_together() {
    let agent = FenceAgent::parse(&XML.replace(r#" required="1""#, "")).unwrap();
    let agent = &agent;
    let of = |node: &str, options: &str| {
        let mut validated = checked("fence_test", agent, "ip=1\nplug=1\nstorage=san\nidentity=configured").unwrap();
        let call = validated.calls.get_mut("a").unwrap();
        let (agent, options) = options.split_once(' ').unwrap();
        agent.clone_into(&mut call.agent);
        call.options = options.split_whitespace().map(|option| option.split_once('=').unwrap()).map(owned).collect();
        node.clone_into(&mut validated.node);
        validated
    };
    let disks = "devices=/dev/disk/by-id/a,/dev/disk/by-id/b";
    for (one, other, alone) in [
        (&*format!("fence_scsi key=a1 {disks}"), "fence_scsi key=a1 devices=/dev/disk/by-id/b", false),
        (&*format!("fence_scsi key=a1 {disks}"), "fence_scsi key=a2 devices=/dev/disk/by-id/b", true),
        (&*format!("fence_scsi key=a1 {disks}"), "fence_scsi key=a1 devices=/dev/disk/by-id/c", true),
        (&*format!("fence_mpath plug=a1 {disks}"), &*format!("fence_mpath key=a1 {disks}"), false),
        ("fence_own plug=10.0.0.1 export=/a", "fence_own plug=10.0.0.1 export=/a", false),
        ("fence_own plug=10.0.0.1 export=/a", "fence_own plug=10.0.0.2 export=/a", true),
        ("fence_own key=volume host=1", "fence_own key=volume host=2", true),
        ("fence_own ip=array host=1", "fence_own ip=array host=2", true),
        ("fence_own ip=array host=1", "fence_own ip=array host=1", false),
        ("fence_brocade ip=switch plug=3", "fence_brocade ip=SWITCH plug=3", false),
        ("fence_brocade ip=switch plug=3", "fence_brocade ip=switch plug=4", true),
    ] {
        let mut plugs = Plugs::default();
        let first = of("n1", one);
        plugs.set(&first);
        plugs.set(&of("n2", other));
        assert_eq!(plugs.check_unshared(&first, Level::FIRST).is_ok(), alone, "{one} and {other}");
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// `fence_scsi` and `fence_mpath`: `on` there registers the host it runs on.
#[test]
fn what_only_the_node_itself_can_do_is_not_done_here() {
    let on_target = XML
        .replace(r#"<action name="on" automatic="0"/>"#, r#"<action name="on" on_target="1" automatic="1"/>"#)
        .replace(r#"<action name="reboot"/>"#, "")
        .replace("</parameters>", &format!("{}</parameters>", parameter("key", "-k, --key=[key]")));
    let agent = FenceAgent::parse(&on_target).unwrap();
    let storage = "ip=1\nplug=1\nkey=a1\nstorage=san";
    for more in ["", "\naction=off"] {
        let validated = checked("fence_scsi", &agent, &format!("{storage}{more}")).unwrap();
        assert_eq!(validated.calls["a"].actions, BTreeSet::from([AgentAction::Off, AgentAction::Status]));
        assert!(validated.power(Level::FIRST, AgentAction::On).next().is_none());
        assert!(
            !validated.calls["a"].secret_keys.contains_key("key"),
            "it says which node is meant, and stays in sight"
        );
    }
    assert!(
        checked("fence_scsi", &agent, &format!("{storage}\naction=on"))
            .unwrap_err()
            .to_string()
            .contains("cannot do on")
    );
}

#[test]
fn a_redfish_address_is_written_as_the_agent_reads_it() {
    let agent = with(&parameter("systems_uri", "--systems-uri=[uri]"));
    let refusal = |lines: &str| {
        checked("fence_redfish", &agent, &format!("plug=1\n{lines}")).map_err(|refusal| refusal.to_string())
    };
    let path = "systems_uri=/redfish/v1/Systems/1";
    assert!(refusal("ip=10.0.0.1").unwrap_err().contains("needs systems_uri"));
    assert!(refusal("ip=10.0.0.1\nsystems_uri=https://10.0.0.1/redfish").unwrap_err().contains("a path such as"));
    assert!(refusal(&format!("ip=10.0.0.1:8443\n{path}")).unwrap_err().contains("write the port as ipport"));
    assert!(refusal(&format!("ip=fd00::1\n{path}")).unwrap_err().contains("needs it as [fd00::1]"));
    for ip in ["10.0.0.1", "[fd00::1]", "bmc-1.example.com"] {
        assert!(refusal(&format!("ip={ip}\n{path}")).is_ok(), "{ip}");
    }
}

/// The agents of fencing.py make one command line of these: `ssh USER@IP -p PORT -i FILE`, which pexpect splits at spaces.
#[test]
fn a_value_that_becomes_an_option_of_ssh_is_refused() {
    let proxy = "-oProxyCommand=touch${IFS}/tmp/x;#";
    for (line, expected) in [
        (format!("ip=10.0.0.1\nusername=y {proxy}"), "username is \"y -oProxy"),
        (format!("ip=10.0.0.1\nusername={proxy}"), "begins with -"),
        (format!("ip=10.0.0.1 {proxy}\nusername=y"), "has a space"),
    ] {
        let refusal = checked("fence_test", &with(""), &format!("plug=1\nidentity=configured\n{line}"));
        let refusal = refusal.map(|_| ()).unwrap_err().to_string();
        assert!(refusal.contains(expected) && refusal.contains("fence-config-n1/fence-method-a:"), "{refusal}");
    }
}

/// `https://10.0.0.1:443` + `@evil.example` is evil.example: `fence_rhevm` sends it user and password by Basic.
#[test]
fn a_part_of_a_url_is_a_path() {
    let agent = with(&parameter("api_path", "--api-path=[path]"));
    let refusal = |path: &str| {
        let lines = format!("plug=1\nidentity=configured\nip=10.0.0.1\napi_path={path}");
        checked("fence_rhevm", &agent, &lines).map(|_| ()).map_err(|refusal| refusal.to_string())
    };
    assert!(refusal("@evil.example").unwrap_err().contains("api_path is \"@evil.example\", which is no path"));
    assert_eq!(refusal("/ovirt-engine/api"), Ok(()));
}

/// `https://REGION.iaas.cloud.ibm.com`: the token would go to evil.example.
#[test]
fn a_part_of_a_host_is_a_name() {
    let agent = with(&parameter("region", "--region=[region]"));
    let refusal = |region: &str| {
        let lines = format!("plug=1\nidentity=configured\nip=x\nregion={region}");
        checked("fence_ibm_vpc", &agent, &lines).map(|_| ()).map_err(|refusal| refusal.to_string())
    };
    assert!(refusal("evil.example/").unwrap_err().contains("region is \"evil.example/\", which is no name"));
    assert_eq!(refusal("eu-de"), Ok(()));
}
