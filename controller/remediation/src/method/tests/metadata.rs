//! What an agent's metadata may be, and what it says of its options.

use super::{
    traps::{checked, parameter, with},
    *,
};

#[test]
fn an_option_is_found_by_each_of_its_names() {
    let old = |name: &str, getopt: &str| format!(r#"<parameter name="{name}" deprecated="1">{getopt}</parameter>"#);
    let shared = old("old-way", r#"<getopt mixed="-W, --power-off_way=[y]"/>"#);
    let agent = with(&[parameter("way", "-w, --power-off_way=[x]"), shared, old("gone", "")].concat());
    for name in ["way", "power_off_way", "power-off_way", "old_way", "old-way"] {
        let (alias, _) = agent.find(name).unwrap();
        assert_eq!((alias.to.as_str(), alias.deprecated), ("way", name.starts_with("old")), "{name}");
    }
    assert_eq!(agent.find("gone"), None, "nothing says what it means");
}

#[test]
fn a_whole_number_is_one() {
    let agent = with(r#"<parameter name="retry"><getopt mixed="--retry=[n]"/><content type="integer"/></parameter>"#);
    let of = |value: &str| checked("fence_test", &agent, &format!("ip=1\nplug=1\nretry={value}"));
    assert_eq!(of("3").unwrap().calls["a"].options["retry"], "3");
    assert!(of("often").unwrap_err().to_string().contains("retry is often, not a whole number"));
}

/// These two have outlets, whatever their metadata says.
#[test]
fn the_plug_of_an_agent_that_has_none_is_its_address() {
    let address = XML.replace("--plug=[id]", "--plug=[ip]");
    for (name, is_address) in [("fence_test", true), ("fence_vmware", false), ("fence_powerman", false)] {
        let agent = FenceAgent::parse(&address.replace("\"fence_test\"", &format!("\"{name}\""))).unwrap();
        assert_eq!((agent.name.as_str(), agent.plug_is_address), (name, is_address));
    }
    assert!(!FenceAgent::parse(XML).unwrap().plug_is_address);
}

#[test]
fn what_only_the_secret_can_give_is_waited_for() {
    let with_password = |more: &str| {
        let agent = XML.replace(r#"<parameter name="password">"#, r#"<parameter name="password" required="1">"#);
        let content = r#"[password]"/><content type="string""#;
        FenceAgent::parse(&agent.replace(content, &format!("{content}{more}"))).unwrap()
    };
    let needed = |more: &str| {
        checked("fence_test", &with_password(more), "ip=1\nplug=1").unwrap().calls.remove("a").unwrap().needed
    };
    assert_eq!(needed(""), BTreeSet::from(["password".to_owned()]));
    assert_eq!(needed(r#" default="none""#), BTreeSet::new(), "it has one already");
}

/// Off without on would leave the machine off.
#[test]
fn an_agent_of_power_turns_on_as_well() {
    let agent = FenceAgent::parse(&XML.replace(r#"<action name="on" automatic="0"/>"#, "")).unwrap();
    let refusal = checked("fence_test", &agent, "ip=1\nplug=1").unwrap_err().to_string();
    assert!(refusal.contains("fence_test cannot do on"), "{refusal}");
}

#[test]
fn metadata_is_as_long_as_any_agents_and_no_longer() {
    const MOST: usize = 256 * 1024;
    let padded = |length: usize| format!("{XML}{}", " ".repeat(length - XML.len()));
    assert!(FenceAgent::parse(&padded(MOST)).is_ok());
    assert_eq!(FenceAgent::parse(&padded(MOST + 1)), Err(MetadataError::Long(MOST + 1)));
    let crowded = XML.replace("</resource-agent>", &format!("{}</resource-agent>", "<a/>".repeat(25_000)));
    assert!(crowded.len() < MOST && matches!(FenceAgent::parse(&crowded), Err(MetadataError::Xml(_))));
}
