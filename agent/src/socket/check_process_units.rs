//! Our own check processes as peers: their units, and the users that these have.

use super::peer::Identity;

/// They may report for any part of the node, and no other peer shuts them out.
pub(super) const UNITS: [&str; 3] = ["nodewell-check.service", "nodewell-disk.service", "nodewell-gpu.service"];
/// Of those that are not root's.
const USERS: [&str; 2] = ["nodewell-disk", "nodewell-gpu"];

/// Whether the unit `name` is one of them.
pub(super) fn is_unit(name: &str) -> bool {
    UNITS.contains(&name)
}

pub(super) fn is_one(who: &Identity) -> bool {
    UNITS.iter().any(|unit| who.is_unit(unit))
}

/// The numbers of their users; none of a user that is not there, as on a machine without the package.
pub(super) fn users() -> Vec<u32> {
    // The package makes them in this file. The name service would ask the network for one that is not in it.
    users_in(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())
}

fn users_in(passwd: &str) -> Vec<u32> {
    let number = |line: &str| {
        let mut fields = line.split(':');
        fields.next().filter(|name| USERS.contains(name))?;
        fields.nth(1)?.parse().ok()
    };
    passwd.lines().filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn users_are_known_by_their_names_and_may_be_missing() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nnodewell:x:990:990::/:/sbin/nologin\nnodewell-disk:x:991:991::/:\n\
            nodewell-gpu:x:nine\nnodewell-gpu\nnodewell-gpus:x:5:5::/:\nnodewell-gpu:x:992:992::/:\n";
        assert_eq!(users_in(passwd), [991, 992]);
        assert_eq!(users_in("root:x:0:0:root:/root:/bin/sh\n"), [0; 0]);
    }

    #[test]
    fn they_are_the_users_of_the_units() {
        let user = |unit: &str| {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd").join(unit);
            let text = std::fs::read_to_string(file).unwrap();
            text.lines().find_map(|line| line.strip_prefix("User=").map(str::to_owned))
        };
        let users: Vec<String> = UNITS.into_iter().filter_map(user).collect();
        assert_eq!(users, USERS);
    }
}
