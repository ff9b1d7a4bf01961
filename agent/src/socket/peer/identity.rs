//! The identity of a peer, once its cgroup is known: what grants are matched against, and the name it reports under.

use std::sync::Arc;

use nodewell_checks::cgroup::CgroupOwner;

use super::GONE;

/// The peer that connected. Only a process that is known to live on the host itself is a user, a group member or a
/// unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::socket) struct Identity {
    owner: CgroupOwner,
    uid: u32,
    groups: Vec<u32>,
    principal: Arc<str>,
}

impl Identity {
    /// `groups` begins with the effective one.
    pub(super) fn new(owner: CgroupOwner, uid: u32, groups: Vec<u32>) -> Self {
        let principal = principal(&owner, uid).into();
        Self { owner, uid, groups, principal }
    }

    /// The name it reports under: `raid-monitor.service`, `root` or `uid:1000`. No peer can choose another's.
    pub(in crate::socket) fn principal(&self) -> &Arc<str> {
        &self.principal
    }

    pub(in crate::socket) fn uid(&self) -> u32 {
        self.uid
    }

    pub(in crate::socket) fn is_root(&self) -> bool {
        self.is_user(0)
    }

    pub(in crate::socket) fn is_user(&self, uid: u32) -> bool {
        self.is_at_home() && self.uid == uid
    }

    pub(in crate::socket) fn is_in_group(&self, gid: u32) -> bool {
        self.is_at_home() && self.groups.contains(&gid)
    }

    pub(in crate::socket) fn is_unit(&self, name: &str) -> bool {
        matches!(&self.owner, CgroupOwner::Unit(unit) if **unit == *name)
    }

    /// The service of the host's systemd that it belongs to; a user's whole service manager is no such thing.
    pub(in crate::socket) fn service(&self) -> Option<&str> {
        match &self.owner {
            CgroupOwner::Unit(unit) => service(unit),
            _ => None,
        }
    }

    /// Whether its service has a name that systemd made up for this run: the next one has another.
    pub(in crate::socket) fn is_of_one_run(&self) -> bool {
        self.service().is_some_and(is_made_up)
    }

    /// Who acts, for people: its user, and the service that it belongs to.
    pub(in crate::socket) fn actor(&self) -> String {
        match self.service() {
            Some(unit) => format!("{} in {unit}", principal(&CgroupOwner::Host, self.uid)),
            None => self.principal.to_string(),
        }
    }

    /// Why no grant can be meant for it, as a sentence about it.
    pub(in crate::socket) fn shut_out(&self) -> Option<String> {
        match &self.owner {
            CgroupOwner::Container(name) => Some(format!("it runs in a container ({name})")),
            CgroupOwner::Unknown(why) => Some(format!("its identity is unknown: {why}")),
            CgroupOwner::Unit(_) | CgroupOwner::Host => None,
        }
    }

    /// Whether it was there when it connected, and no more when it was looked at.
    pub(in crate::socket) fn has_ended(&self) -> bool {
        self.owner == GONE
    }

    pub(in crate::socket) fn is_shut_out(&self) -> bool {
        !self.is_at_home()
    }

    fn is_at_home(&self) -> bool {
        matches!(self.owner, CgroupOwner::Unit(_) | CgroupOwner::Host)
    }
}

/// For people: the principal, and the user where that does not show it.
impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.owner, self.service()) {
            (CgroupOwner::Host | CgroupOwner::Unit(_), None) if self.uid == 0 => f.write_str("root"),
            (CgroupOwner::Host | CgroupOwner::Unit(_), None) => write!(f, "uid {}", self.uid),
            _ => write!(f, "{} (uid {})", self.principal, self.uid),
        }
    }
}

fn principal(owner: &CgroupOwner, uid: u32) -> String {
    match owner {
        CgroupOwner::Container(name) => format!("container:{name}"),
        CgroupOwner::Unknown(_) => format!("unknown:uid:{uid}"),
        CgroupOwner::Unit(unit) if service(unit).is_some() => unit.to_string(),
        CgroupOwner::Unit(_) | CgroupOwner::Host if uid == 0 => "root".to_owned(),
        CgroupOwner::Unit(_) | CgroupOwner::Host => format!("uid:{uid}"),
    }
}

fn service(unit: &str) -> Option<&str> {
    Some(unit).filter(|unit| unit.ends_with(".service") && !unit.starts_with("user@"))
}

/// As `systemd-run` names what it is given no name for: `run-u123.service` (`run-u123-s1.service` after a soft reboot),
/// `run-p123-i456.service` or `run-r….service` (`make_unit_name` in systemd's src/run/run.c).
fn is_made_up(service: &str) -> bool {
    let name = service.strip_prefix("run-").and_then(|name| name.strip_suffix(".service")).unwrap_or_default();
    let is_numbers = |rest: &str| {
        rest.starts_with(|first: char| first.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_digit() || b"-is".contains(&byte))
    };
    match name.split_at_checked(1) {
        Some(("u" | "p", rest)) => is_numbers(rest),
        Some(("r", rest)) => rest.len() == 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_systemd_made_up_is_known() {
        for (unit, expected) in [
            ("run-u123.service", true),
            ("run-u123-s1.service", true),
            ("run-p4711-i4712.service", true),
            ("run-r0123456789abcdef0123456789abcdef.service", true),
            ("run-r0123.service", false),
            ("run-updates.service", false),
            ("run-u.service", false),
            ("run-u1-tests.service", false),
            ("run-ä.service", false),
            ("run-.service", false),
            ("rerun-u1.service", false),
            ("raid-monitor.service", false),
            ("session-3.scope", false),
        ] {
            let identity = Identity::new(CgroupOwner::Unit(unit.into()), 7, vec![7]);
            assert_eq!(identity.is_of_one_run(), expected, "{unit}");
        }
    }
}
