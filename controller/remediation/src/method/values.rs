//! What an option's value may look like. The agents put values together to command lines (`ssh USER@IP -p PORT`, split at spaces) and
//! URLs (`https://IP:PORT` + path) without a look at them: a value that would become more than one part is refused.

use nodewell_printable::is_hidden;

use super::forbidden;

/// Options that agents only send as data, and whose values have spaces in them.
const SPACES_ALLOWED: [(&str, &str); 6] = [
    ("fence_openstack", "project_name"),
    ("fence_openstack", "project_domain_name"),
    ("fence_openstack", "user_domain_name"),
    ("fence_openstack", "tenant_name"),
    ("fence_vmware_rest", "plug"),
    ("fence_vmware_soap", "plug"),
];
/// Options that become a part of a host's name (`https://REGION.iaas.cloud.ibm.com`) or of a path.
const NAME_OPTIONS: [&str; 12] = [
    "region",
    "region_name",
    "zone",
    "cloud",
    "namespace",
    "subscriptionId",
    "tenantId",
    "pve_node",
    "apiversion",
    "api_type",
    "instance",
    "target",
];
/// Options that become a part of a path and may have more letters: `example.com:project`, `group(1)`.
const SEGMENT_OPTIONS: [&str; 2] = ["project", "resourceGroup"];
const HOST_OPTIONS: [&str; 2] = ["ip", "proxyhost"];
const PORT_OPTIONS: [&str; 2] = ["ipport", "proxyport"];
/// Hidden pages of `fence_eps`, without their first `/`.
const PAGE: &str = "page";
const SPACE: &str =
    "has a space, a control character or one that is not seen in it; an agent would read another option there";
const KEY: &str =
    "is no key as a device reports it: up to 16 of 0-9 and a-f, not in capitals, without 0x and leading zeros";
const DASH: &str = "begins with -; a program would read it as an option";

/// What is wrong with a value of an agent's option, however it came there. Never with the value in it.
#[must_use]
pub fn check_value(agent: &str, option: &str, value: &str) -> Option<&'static str> {
    // Passwords may be any text; that they are one line is seen to where a Secret is read.
    if forbidden::is_secret(option) || option == "community" {
        return None;
    }
    let key = || forbidden::is_reservation_key(agent, option).then(|| reservation_key(value)).flatten();
    text(agent, option, value).or_else(|| part(option, value)).or_else(key)
}

/// The agents compare it as text with what `sg_persist` prints. One that is written in another way is never found, so that
/// a node that is registered reads Off, and `off` has nothing to do.
fn reservation_key(value: &str) -> Option<&'static str> {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    let is_plain = (1..=16).contains(&value.len()) && value.bytes().all(is_digit) && !value.starts_with('0');
    (!is_plain).then_some(KEY)
}

fn text(agent: &str, option: &str, value: &str) -> Option<&'static str> {
    let is_free = option == "command_prompt" || SPACES_ALLOWED.contains(&(agent, option));
    // Agents that take several have each on its own, and its spaces trimmed: 1, 2.
    let parts = value.split(if option == "plug" && !is_free { &[',', ';'][..] } else { &[] });
    parts.map(str::trim).find_map(|part| {
        let is_bad = |letter: char| is_hidden(letter) || letter.is_whitespace() && !(is_free && letter == ' ');
        if part.contains(is_bad) { Some(SPACE) } else { part.starts_with('-').then_some(DASH) }
    })
}

/// By what the option is a part of.
fn part(option: &str, value: &str) -> Option<&'static str> {
    let all = |more: &str| value.chars().all(|letter| letter.is_ascii_alphanumeric() || more.contains(letter));
    let is_more_than_path = |value: &str| value.contains(['@', '#', '?', '\\']) || value.contains("//");
    let is_url = ["_url", "_endpoint"].iter().any(|end| option.ends_with(end)) || option == "proxy";
    if HOST_OPTIONS.contains(&option) {
        return (!all(".-_:[]%")).then_some("is no address; write a host's name or an IP address alone");
    }
    if PORT_OPTIONS.contains(&option) {
        return value.parse::<u16>().is_err().then_some("is no port; write a number");
    }
    if NAME_OPTIONS.contains(&option) {
        let text = "is no name; it may have letters, digits, - _ and . in it";
        return (!all("-_.") || value.contains("..")).then_some(text);
    }
    if SEGMENT_OPTIONS.contains(&option) {
        let is_bad = is_more_than_path(value) || value.contains(['/', '%', '&']);
        return is_bad.then_some("is no name; it may have no / @ # ? \\ % or & in it");
    }
    if option == "api_path" || option.ends_with("_uri") {
        let text = "is no path on the host that ip names; it begins with / and may have no @ # ? \\ or // in it";
        return (!value.starts_with('/') || is_more_than_path(value)).then_some(text);
    }
    if option == PAGE {
        return is_more_than_path(value).then_some("is no page; it may have no @ # ? \\ or // in it");
    }
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    (is_url && is_more_than_path(rest))
        .then_some("is no URL of a host; it may have no @ # ? \\ in it, and // only before the host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_the_part_that_it_is() {
        for (option, good, bad) in [
            ("ip", "[fe80::1%eth0]", "a@b"),
            ("ip", "bmc-1.example.com", "10.0.0.1/x"),
            ("proxyhost", "proxy", "proxy#"),
            ("ipport", "8443", "443@evil.example"),
            ("region", "eu-west-1", "evil.example/"),
            ("zone", "europe-west1-b", "a/../b"),
            ("pve_node", "n1", ".."),
            ("project", "example.com:shop", "a/b"),
            ("resourceGroup", "group(1)", "a?b"),
            ("api_path", "/ovirt-engine/api", "@evil.example"),
            ("api_path", "/a", "/a//b"),
            ("redfish_uri", "/redfish/v1", ".evil.example/"),
            ("systems_uri", "/redfish/v1/Systems/1", "/x?y"),
            ("page", "hidden.htm", "\\x"),
            ("auth_url", "https://keystone.example.com:5000/v3", "https://keystone.example.com@evil.example"),
            ("proxy", "http://p:3128", "http://p#x"),
            ("username", "DOMAIN\\fence@vsphere.local", "-oProxyCommand=x"),
            ("username", "a=b", "a b"),
            ("username", "a,b", "a, b"),
            ("username", "ä", "a\u{2028}b"),
            ("username", "admin", "ad\u{200b}min"),
            ("plug", "1", "1\u{202e}2"),
            ("plug", "1, 2", "1, -2"),
            ("plug", "/dc/vm/x", "1 -o x"),
            ("command_prompt", "[a b]", "a\tb"),
        ] {
            assert_eq!(check_value("fence_test", option, good), None, "{option}={good}");
            assert!(check_value("fence_test", option, bad).is_some(), "{option}={bad}");
        }
        assert_eq!(check_value("fence_vmware_rest", "plug", "worker 1"), None);
        for key in ["0xa1", "A1", "0a1", "a1 ", "", "g1", "a1b2c3d4e5f60718a", "0"] {
            assert!(check_value("fence_scsi", "key", key).is_some(), "{key}");
            assert!(check_value("fence_mpath", "plug", key).is_some(), "{key}");
        }
        for key in ["a1", "1", "a1b2c3d4e5f60718"] {
            assert_eq!(check_value("fence_scsi", "key", key), None);
        }
        assert_eq!(check_value("fence_scsi", "plug", "Worker-1"), None);
        for (option, any) in [("password", "-a b\t@#"), ("snmp_priv_passwd", " x"), ("community", "a b")] {
            assert_eq!(check_value("fence_test", option, any), None, "passwords are whatever they are");
        }
    }
}
