//! What the lines of one method may be, each at its edge, and what becomes of it.

use super::*;

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

/// One method of power management, of the node's own ConfigMap, with these lines.
fn call(lines: &str) -> ValidatedMethod {
    let text = format!("agent_name=fence_test\nip=1.2.3.4\nplug=3\n{lines}");
    let entries = [
        ("fence-config-n1", "config.properties", "power_management=pdu"),
        ("fence-config-n1", "fence-method-pdu", text.as_str()),
    ];
    validated(&entries).unwrap().calls.remove("pdu").unwrap()
}

#[test]
fn a_line_is_a_name_and_a_value_and_each_name_stands_once() {
    let longest = "a".repeat(64);
    for (line, expected) in [
        ("=x", "what stands before = is no name"),
        ("a b=x", "what stands before = is no name"),
        (&*format!("{longest}a=x"), "what stands before = is no name"),
        ("username=a\nusername=b", "username is given twice; keep one"),
        // As any other that no agent knows.
        (&*format!("{longest}=x"), "has no option"),
    ] {
        let error = wrong_with(line);
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn an_agents_name_is_one_word() {
    let agent = |name: &str| {
        let text = format!("agent_name={name}");
        let entries = [
            ("fence-config-n1", "config.properties", "power_management=pdu"),
            ("fence-config-n1", "fence-method-pdu", text.as_str()),
        ];
        resolve("n1", None, &entries).ok().map(|found| found.methods["pdu"].agent.clone())
    };
    let longest = format!("fence_{}", "a".repeat(63));
    let longer = format!("{longest}a");
    for good in ["fence_vmware_rest", "fence_ilo4", longest.as_str()] {
        assert_eq!(agent(good).as_deref(), Some(good));
    }
    assert_eq!(agent("fence-ipmilan").as_deref(), Some("fence_ipmilan"));
    for bad in ["fence_", "fence_a/b", "fence_a b", "ipmilan", longer.as_str()] {
        assert_eq!(agent(bad), None, "{bad}");
    }
}

#[test]
fn what_the_metadata_allows_is_given_to_the_agent() {
    for (option, value) in
        [("ssl_insecure", "Yes"), ("ssl_insecure", "0"), ("privlvl", "operator"), ("power_timeout", "600")]
    {
        assert_eq!(call(&format!("{option}={value}")).options[option], value, "{option}");
    }
}

#[test]
fn an_agent_has_twice_its_timeout_what_it_waits_and_ten_seconds() {
    for (lines, seconds) in
        [("", 50), ("power_timeout=9\npower_wait=3", 31), ("power_timeout=600", 1210), ("power_wait=580", 630)]
    {
        assert_eq!(call(lines).longest, Duration::from_secs(seconds), "{lines}");
    }
    for lines in ["power_timeout=601", "power_timeout=599\npower_wait=2", "power_wait=581"] {
        assert!(wrong_with(lines).contains("more than 600 s"), "{lines}");
    }
}

#[test]
fn a_machine_is_asked_pinned_or_answered_for() {
    assert_eq!(call("").identity_method, IdentityMethod::Asked);
    assert_eq!(call("identity=asked").identity_method, IdentityMethod::Asked);
    assert_eq!(call("identity=configured").identity_method, IdentityMethod::Configured);
    for key in ["system-uuid", "system_uuid"] {
        assert_eq!(call(&format!("{key}={UUID}")).identity_method, IdentityMethod::Pinned(UUID.into()), "{key}");
    }
}

#[test]
fn a_secret_that_is_named_has_to_be_there() {
    let default = call("");
    assert_eq!((default.secret.as_str(), default.secret_needed), ("secret-fence-method-pdu-n1", false));
    let named = call("secret=secret-fence-method-rack");
    assert_eq!((named.secret.as_str(), named.secret_needed), ("secret-fence-method-rack", true));
}

/// Each by every name that it has, and nothing else that the agent knows.
#[test]
fn a_secret_has_user_and_password_alone() {
    let keys: Vec<(String, String)> = call("").secret_keys.into_iter().collect();
    let expected = [("login", "username"), ("password", "password"), ("username", "username")];
    assert_eq!(keys, expected.map(|(name, preferred)| (name.to_owned(), preferred.to_owned())));
}

/// The actions that the method `pdu` is run for in these steps.
fn actions(config: &str, lines: &str) -> Result<Vec<AgentAction>, String> {
    let text = format!("agent_name=fence_test\nip=1.2.3.4\nplug=3\n{lines}");
    let entries =
        [("fence-config-n1", "config.properties", config), ("fence-config-n1", "fence-method-pdu", text.as_str())];
    let found = validated(&entries).map_err(|refused| refused.to_string())?;
    Ok(found.calls["pdu"].actions.iter().copied().collect())
}

/// What turns off alone turns on as well: a machine is not left off for want of a second method.
#[test]
fn a_method_is_run_for_what_its_step_needs() {
    use AgentAction::{Off, On, Status};
    let whole = vec![On, Off, Status];
    for (config, lines, expected) in [
        ("power_management=pdu", "", whole.clone()),
        ("power_management=pdu", "action=off", whole.clone()),
        ("power_management=pdu", "action=reboot", whole.clone()),
        ("power_management=pdu", "storage=san", whole),
        ("isolation=pdu", "", vec![Off]),
        ("isolation=pdu", "action=on", vec![On]),
        ("recovery=pdu", "", vec![On]),
        ("recovery=pdu", "action=off", vec![Off]),
    ] {
        assert_eq!(actions(config, lines), Ok(expected), "{config} {lines}");
    }
    for config in ["isolation=pdu", "recovery=pdu"] {
        let refusal = actions(config, "action=reboot").unwrap_err();
        assert!(refusal.contains("reboot is for power_management only"), "{config}: {refusal}");
    }
}

#[test]
fn a_built_in_stands_where_it_means_something() {
    for (config, expected) in [
        ("isolation=restart-instance", "isolation: restart-instance is for power_management only"),
        ("recovery=restart-instance", "recovery: restart-instance is for power_management only"),
        ("isolation=uncordon", "isolation: uncordon is for recovery only"),
    ] {
        let refusal = validated(&[("fence-config-n1", "config.properties", config)]).unwrap_err().to_string();
        assert!(refusal.contains(expected), "{config}: {refusal}");
    }
    let config = "isolation=cordon\npower_management=restart-instance\nrecovery=uncordon";
    assert!(validated(&[("fence-config-n1", "config.properties", config)]).is_ok());
}
