use super::{super::peer::Peer, *};

const OWNER: u32 = 990;

fn name(word: &str) -> Name {
    Name::new(word).unwrap()
}

fn grant(to: Grantee, conditions: &[&str]) -> Grant {
    Grant {
        to,
        written: String::new(),
        conditions: Types::Only(conditions.iter().map(|word| name(word)).collect()),
        reasons: None,
        events: false,
        clear: Types::Only(Vec::new()),
        interval: None,
        burst: None,
        on_stale: None,
        at: Location { file: "nodewell.toml".into(), line: 1 },
    }
}

fn raid_unit() -> Grantee {
    Grantee::Unit("raid-monitor.service".to_owned())
}

fn report(conditions: &[(&str, bool, &str)], events: &[&str]) -> Vec<Status> {
    let time = "2026-11-21T02:00:00Z";
    let conditions: Vec<_> = conditions
        .iter()
        .map(|(condition, status, reason)| {
            serde_json::json!({"type": condition, "status": status, "reason": reason, "transition": time, "message": ""})
        })
        .collect();
    let events: Vec<_> = events
        .iter()
        .map(|reason| serde_json::json!({"severity": "warn", "timestamp": time, "reason": reason, "message": ""}))
        .collect();
    let report = serde_json::json!({"source": "raid", "conditions": conditions, "events": events});
    vec![serde_json::from_value(report).unwrap()]
}

fn missing(grants: &Grants, peer: &Peer, report: &[Status]) -> Missing {
    grants.of(peer.identity(), OWNER).missing(report)
}

#[test]
fn without_grants_only_root_and_the_agents_user_report() {
    let grants = Grants::new(&[]);
    for (peer, may) in [
        (Peer::user(0), true),
        (Peer::user(OWNER), true),
        (Peer::unit("raid-monitor.service", 0), true),
        (Peer::unit("nodewell-disk.service", 4711), true),
        (Peer::user(1000), false),
        (Peer::unit("raid-monitor.service", 1000), false),
        (Peer::contained("docker-1.scope", 0), false),
        (Peer::contained("docker-1.scope", OWNER), false),
        (Peer::contained("nodewell-disk.service", 0), false),
        (Peer::at(crate::socket::peer::CgroupOwner::Unknown("gone"), 0), false),
    ] {
        let rights = grants.of(peer.identity(), OWNER);
        assert_eq!(rights.may_report(), may, "{peer:?}");
        assert_eq!(rights.missing(&report(&[("RaidProblem", true, "RaidDegraded")], &["X"])).is_nothing(), may);
        assert_eq!(rights.may_clear(&name("RaidProblem")), may);
    }
}

#[test]
fn a_grant_is_matched_by_unit_user_and_group() {
    for (to, yes, no) in [
        (raid_unit(), Peer::unit("raid-monitor.service", 1), Peer::unit("other.service", 1)),
        (Grantee::User(1000), Peer::user(1000), Peer::user(1001)),
        (Grantee::User(1000), Peer::unit("x.service", 1000), Peer::contained("x", 1000)),
        (Grantee::Group(1000), Peer::user(1000), Peer::contained("x", 1000)),
        (raid_unit(), Peer::unit("raid-monitor.service", 7), Peer::contained("raid-monitor.service", 0)),
    ] {
        let grants = Grants::new(&[grant(to, &["RaidProblem"])]);
        let report = report(&[("RaidProblem", true, "RaidDegraded")], &[]);
        assert!(missing(&grants, &yes, &report).is_nothing(), "{yes:?}");
        assert!(!missing(&grants, &no, &report).is_nothing(), "{no:?}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let narrow = Grant { reasons: Some(vec![name("RaidDegraded")]), ..grant(raid_unit(), &["RaidProblem"]) };
    let grants = Grants::new(&[narrow]);
    let peer = Peer::unit("raid-monitor.service", 1);
    let ask = |conditions: &[(&str, bool, &str)], events: &[&str]| missing(&grants, &peer, &report(conditions, events));
    assert!(ask(&[("RaidProblem", true, "RaidDegraded")], &[]).is_nothing());
    assert!(ask(&[("RaidProblem", false, "RaidIsHealthy")], &[]).is_nothing(), "an end needs no reason");
    let expected = Missing { conditions: vec![name("DiskUnhealthy")], ..Missing::default() };
    assert_eq!(ask(&[("RaidProblem", true, "RaidDegraded"), ("DiskUnhealthy", false, "X")], &[]), expected);
    let expected = Missing { conditions: vec![name("RaidProblem")], reasons: vec![name("X")], ..Missing::default() };
    assert_eq!(ask(&[("RaidProblem", true, "X"), ("RaidProblem", true, "X")], &[]), expected);
    assert_eq!(ask(&[], &["RaidDegraded"]), Missing { events: true, ..Missing::default() });
}

#[test]
fn devices_are_counted_by_whose_grant_is_of_everything() {
    let mut counted = report(&[], &[]);
    counted[0].hardware = serde_json::from_str(r#"[{"class":"disks","total":4}]"#).unwrap();
    let every_type = ["RaidProblem", "DiskUnhealthy", "GpuUnhealthy"];
    let wide = Grant { events: true, ..grant(raid_unit(), &every_type) };
    let narrow = Grant { conditions: Types::All, ..grant(Grantee::User(7), &[]) };
    let grants = Grants::new(&[wide, narrow]);
    for (peer, may) in [
        (Peer::unit("nodewell-disk.service", 4711), true),
        (Peer::user(0), true),
        (Peer::user(OWNER), true),
        (Peer::unit("raid-monitor.service", 7), false),
        (Peer::user(1000), false),
        (Peer::contained("nodewell-disk.service", 0), false),
    ] {
        assert_eq!(missing(&grants, &peer, &counted).hardware, !may, "{peer:?}");
        counted[0].full = !counted[0].full;
    }
    counted[0].hardware = Some(Vec::new());
    assert!(missing(&grants, &Peer::unit("raid-monitor.service", 7), &counted).is_nothing(), "that counts nothing");
}

#[test]
fn grants_add_up() {
    let events = Grant { events: true, ..grant(raid_unit(), &[]) };
    let other = Grant { reasons: Some(vec![name("X")]), ..grant(Grantee::User(7), &["RaidProblem"]) };
    let grants = Grants::new(&[grant(raid_unit(), &["DiskUnhealthy"]), events, other]);
    let peer = Peer::unit("raid-monitor.service", 7);
    let all = report(&[("RaidProblem", true, "X"), ("DiskUnhealthy", true, "Y")], &["Z"]);
    assert!(missing(&grants, &peer, &all).is_nothing());
    // A reason that one grant gives for one condition is not given for another's.
    assert!(!missing(&grants, &peer, &report(&[("RaidProblem", true, "Y")], &[])).is_nothing());
}

#[test]
fn the_highest_rate_and_the_last_word_on_silence_count() {
    let default = Rate { burst: 40, interval: Duration::from_millis(50) };
    let fast = Grant { interval: Some(Duration::from_millis(1)), ..grant(raid_unit(), &["A"]) };
    let slow = Grant { interval: Some(Duration::from_secs(1)), burst: Some(3), ..grant(raid_unit(), &["A"]) };
    let peer = Peer::unit("raid-monitor.service", 7);
    let rate = |grants: &[Grant]| Grants::new(grants).of(peer.identity(), OWNER).rate(default);
    assert_eq!(rate(&[]), default);
    assert_eq!(rate(std::slice::from_ref(&slow)), Rate { burst: 3, interval: Duration::from_secs(1) });
    assert_eq!(rate(&[slow.clone(), fast.clone()]), Rate { burst: 2000, interval: Duration::from_millis(1) });
    let on_stale = |grants: &[Grant]| Grants::new(grants).of(peer.identity(), OWNER).on_stale();
    assert_eq!(on_stale(std::slice::from_ref(&slow)), OnStale::Keep);
    assert_eq!(on_stale(&[Grant { on_stale: Some(OnStale::Clear), ..slow }, fast]), OnStale::Clear);
}

#[test]
fn clearing_takes_a_grant_that_allows_it() {
    let may = Grant { clear: Types::Only(vec![name("RaidProblem")]), ..grant(Grantee::User(1000), &[]) };
    let grants = Grants::new(&[may]);
    let peer = Peer::user(1000);
    let rights = grants.of(peer.identity(), OWNER);
    assert!(rights.may_clear(&name("RaidProblem")) && !rights.may_clear(&name("DiskUnhealthy")));
    assert!(!rights.may_report(), "clearing is not reporting");
}
