//! Fake trees and made-up peers; what needs the kernel itself is in `agent/sys` and in the whole-program cases.

mod impostors;

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn a_kernels_version_is_read_whatever_follows_it() {
    for (release, expected) in [
        ("6.18.44-cloud-amd64", Some((6, 18))),
        ("6.8-rc1", Some((6, 8))),
        ("5.14.0-503.el9_5.x86_64", Some((5, 14))),
        ("6.7.12+bpo-amd64", Some((6, 7))),
        ("6", None),
        ("linux", None),
        ("", None),
    ] {
        assert_eq!(version(release), expected, "{release:?}");
    }
    assert!(version("5.14.0") < Some(WITHOUT_LOCK) && version("10.0") > Some(WITHOUT_LOCK));
}

/// A thread of its own is started for a look only where that may wait for the kernel.
#[tokio::test]
async fn who_asks_is_looked_up_before_the_question_where_that_may_wait() {
    for shows_at_once in [true, false] {
        let host = Host { shows_at_once, ..Host::new(Path::new("/proc"), Help::Nothing) };
        let credentials = Credentials { pid: None, uid: 1000, gid: 1000 };
        let (host, groups, identity) = (Arc::new(host), Vec::new(), OnceLock::new());
        let peer = Arc::new(Peer { host, credentials, groups, hold: Hold::None, start_ticks: None, identity });
        Arc::clone(&peer).look().await;
        assert_eq!(peer.identity.get().is_some(), !shows_at_once);
    }
}

impl Peer {
    /// One that lives on the host, in no unit.
    pub(in crate::socket) fn user(uid: u32) -> Arc<Self> {
        Self::at(CgroupOwner::Host, uid)
    }

    pub(in crate::socket) fn unit(name: &str, uid: u32) -> Arc<Self> {
        Self::at(CgroupOwner::Unit(name.into()), uid)
    }

    pub(in crate::socket) fn contained(name: &str, uid: u32) -> Arc<Self> {
        Self::at(CgroupOwner::Container(name.into()), uid)
    }

    pub(in crate::socket) fn ended(uid: u32) -> Arc<Self> {
        Self::at(GONE, uid)
    }

    pub(in crate::socket) fn at(owner: CgroupOwner, uid: u32) -> Arc<Self> {
        static PIDS: AtomicU32 = AtomicU32::new(1);
        let pid = std::num::NonZeroU32::new(PIDS.fetch_add(1, Ordering::Relaxed));
        let credentials = Credentials { pid, uid, gid: uid };
        let host = Arc::new(Host {
            proc_root: "/nonexistent".into(),
            home: Home::of(""),
            blind: None,
            help: Help::Nothing,
            shows_at_once: true,
        });
        let identity = OnceLock::from(Identity::new(owner, uid, vec![uid]));
        Arc::new(Self { host, credentials, groups: Vec::new(), hold: Hold::None, start_ticks: None, identity })
    }
}
