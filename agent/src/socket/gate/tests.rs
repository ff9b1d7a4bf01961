use nodewell_ledger::OnStale;
use nodewell_rules::Location;

use super::*;
use crate::config::{Grant, Grantee, Types};

const OWNER: u32 = 990;

fn gate(grants: &[Grant]) -> (Gate, watch::Sender<Arc<Grants>>) {
    let sender = watch::Sender::new(Arc::new(Grants::new(grants)));
    let rate = Rate { burst: 2, interval: Duration::from_secs(10) };
    (Gate::new(Access { grants: sender.subscribe(), rate }, OWNER), sender)
}

fn raid_grant() -> Grant {
    Grant {
        to: Grantee::Unit("raid-monitor.service".to_owned()),
        written: String::new(),
        conditions: Types::Only(vec![Name::fixed("RaidProblem")]),
        reasons: None,
        events: false,
        clear: Types::Only(Vec::new()),
        interval: None,
        burst: None,
        on_stale: Some(OnStale::Clear),
        at: Location { file: "nodewell.toml".into(), line: 1 },
    }
}

fn report() -> Vec<Status> {
    let text = r#"[{"source":"raid","conditions":[{"type":"RaidProblem","status":true,"reason":"RaidDegraded",
        "transition":"2026-11-21T02:00:00Z","message":"m"}]}]"#;
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_grant_allows_and_names_the_principal() {
    let (gate, _grants) = gate(&[raid_grant()]);
    let granted = gate.admit(&Peer::unit("raid-monitor.service", 7), &report()).unwrap();
    let sender =
        |principal: &str, on_stale, may_use_reserve| Sender { principal: principal.into(), on_stale, may_use_reserve };
    assert_eq!(granted, sender("raid-monitor.service", OnStale::Clear, false));
    let granted = gate.admit(&Peer::user(0), &report()).unwrap();
    assert_eq!(granted, sender("root", OnStale::Keep, true));
    let granted = gate.admit(&Peer::unit("nodewell-disk.service", 7), &report()).unwrap();
    assert_eq!(granted, sender("nodewell-disk.service", OnStale::Keep, true));
    let granted = gate.admit(&Peer::unit("cron.service", 0), &report()).unwrap();
    assert_eq!(granted, sender("cron.service", OnStale::Keep, true), "root's, whatever the unit");
    let granted = gate.admit(&Peer::user(OWNER), &report()).unwrap();
    assert_eq!(granted, sender(&format!("uid:{OWNER}"), OnStale::Keep, true));
    assert_eq!(gate.rejections(), []);
}

#[test]
fn a_rejection_names_what_is_missing_and_what_would_give_it() {
    let (gate, _grants) = gate(&[]);
    let rejection = gate.admit(&Peer::unit("raid-monitor.service", 7), &report()).unwrap_err();
    assert_eq!(rejection.status, StatusCode::FORBIDDEN);
    assert_eq!(
        rejection.error,
        "raid-monitor.service (uid 7) may not report condition RaidProblem; to allow it, add to \
         /etc/nodewell/nodewell.toml.d/grants.toml and reload nodewell:\n[[grant]]\nunit = \"raid-monitor.service\"\n\
         conditions = [\"RaidProblem\"]\n"
    );
    let rejection = gate.admit(&Peer::user(1000), &report()).unwrap_err();
    assert!(
        rejection.error.contains("[[grant]]\nuser = 1000\nconditions = [\"RaidProblem\"]\n"),
        "{}",
        rejection.error
    );
    let heartbeat: Vec<Status> = serde_json::from_str(r#"[{"source":"raid"}]"#).unwrap();
    let rejection = gate.admit(&Peer::user(1000), &heartbeat).unwrap_err();
    assert!(rejection.error.starts_with("uid 1000 may not report anything; "), "{}", rejection.error);
}

#[test]
fn a_rejection_advises_no_unit_that_the_next_run_does_not_have() {
    let (gate, _grants) = gate(&[]);
    for unit in ["run-u12.service", "run-r0123456789abcdef0123456789abcdef.service"] {
        let error = gate.admit(&Peer::unit(unit, 7), &report()).unwrap_err().error;
        assert!(error.starts_with(&format!("{unit} (uid 7) may not report condition RaidProblem; ")), "{error}");
        assert!(error.contains(&format!(" nodewell:\n# {unit} is the name of one run; ")), "{error}");
        assert!(error.ends_with("\n[[grant]]\nuser = 7\nconditions = [\"RaidProblem\"]\n"), "{error}");
    }
    let error = gate.admit(&Peer::unit("run-u12.service", 63_211), &report()).unwrap_err().error;
    assert!(error.contains("\n# run-u12.service and uid 63211 are of one run: "), "{error}");
    assert!(error.ends_with("\n[[grant]]\nunit = \"NAME.service\"\nconditions = [\"RaidProblem\"]\n"), "{error}");
    let error = gate.admit(&Peer::unit("session-3.scope", 7), &report()).unwrap_err().error;
    assert!(error.ends_with(" nodewell:\n[[grant]]\nuser = 7\nconditions = [\"RaidProblem\"]\n"), "{error}");
}

#[test]
fn who_silences_is_named_by_user_and_service() {
    let (gate, _grants) = gate(&[]);
    for (peer, who) in [
        (Peer::user(0), "root"),
        (Peer::unit("session-3.scope", 0), "root"),
        (Peer::unit("backup.service", 0), "root in backup.service"),
        (Peer::user(OWNER), "uid:990"),
        (Peer::unit("run-u12.service", OWNER), "uid:990 in run-u12.service"),
    ] {
        assert_eq!(gate.may_silence(&peer, "muting a problem").unwrap(), who);
    }
    assert!(gate.may_silence(&Peer::unit("backup.service", 7), "muting a problem").is_err());
}

#[test]
fn a_count_is_rejected_with_what_to_do() {
    let (gate, _grants) = gate(&[raid_grant()]);
    let mut counted = report();
    counted[0].hardware = serde_json::from_str(r#"[{"class":"disks","total":4}]"#).unwrap();
    let rejection = gate.admit(&Peer::unit("raid-monitor.service", 7), &counted).unwrap_err();
    assert_eq!(rejection.status, StatusCode::FORBIDDEN);
    assert_eq!(rejection.error, format!("raid-monitor.service (uid 7) may not report hardware; {COUNTING}"));
    assert_eq!(gate.rejections()[0].why, "may not report hardware");
    let rejection = gate.admit(&Peer::user(1000), &counted).unwrap_err();
    let words = "uid 1000 may not report condition RaidProblem, hardware; devices of the node are counted only by";
    assert!(rejection.error.starts_with(words), "{}", rejection.error);
    let words = "`hardware` out; to allow the rest, add to /etc/nodewell/nodewell.toml.d/grants.toml and reload nodewell:\n\
                 [[grant]]\nuser = 1000\nconditions = [\"RaidProblem\"]\n";
    assert!(rejection.error.ends_with(words), "{}", rejection.error);
    assert!(gate.admit(&Peer::unit("nodewell-disk.service", 7), &counted).is_ok());
}

#[test]
fn a_containers_root_may_nothing() {
    let (gate, _grants) = gate(&[Grant { to: Grantee::User(0), ..raid_grant() }]);
    let pod = Peer::contained("cri-containerd-1.scope", 0);
    let rejection = gate.admit(&pod, &report()).unwrap_err();
    assert!(rejection.error.starts_with("it runs in a container (cri-containerd-1.scope)"), "{}", rejection.error);
    assert!(gate.may_clear_something(&pod).is_err());
    assert!(gate.may_clear(&pod, &Name::fixed("RaidProblem")).is_err());
    assert!(gate.may_inject(&pod).unwrap_err().error.contains("on the host itself; it runs in a container"));
    for host in [Peer::user(0), Peer::user(OWNER)] {
        assert!(gate.may_clear_something(&host).is_ok() && gate.may_inject(&host).is_ok());
    }
}

#[test]
fn who_clears_by_a_grant_is_named() {
    let condition = Name::fixed("RaidProblem");
    let clear = Types::Only(vec![condition.clone()]);
    let (gate, _grants) = gate(&[Grant { clear, ..raid_grant() }]);
    let by_grant = |peer: Arc<Peer>| gate.may_clear(&peer, &condition).unwrap();
    assert_eq!(by_grant(Peer::unit("raid-monitor.service", 7)).as_deref(), Some("raid-monitor.service"));
    let ours =
        [Peer::user(0), Peer::user(OWNER), Peer::unit("cron.service", 0), Peer::unit("nodewell-disk.service", 7)];
    assert!(ours.into_iter().all(|peer| by_grant(peer).is_none()));
}

#[test]
fn a_reload_counts_for_open_connections() {
    let (gate, grants) = gate(&[]);
    let peer = Peer::unit("raid-monitor.service", 7);
    assert!(gate.admit(&peer, &report()).is_err());
    grants.send_replace(Arc::new(Grants::new(&[raid_grant()])));
    assert!(gate.admit(&peer, &report()).is_ok());
    grants.send_replace(Arc::new(Grants::new(&[])));
    assert!(gate.admit(&peer, &report()).is_err());
}

#[test]
fn the_rate_is_each_principals_own_and_retry_after_is_true() {
    let (gate, _grants) = gate(&[raid_grant()]);
    let (one, other) = (Peer::unit("raid-monitor.service", 7), Peer::unit("raid-monitor.service", 7));
    assert!(gate.rate(&one).is_ok() && gate.rate(&other).is_ok());
    let rejection = gate.rate(&one).unwrap_err();
    assert_eq!(rejection.status, StatusCode::TOO_MANY_REQUESTS);
    assert!((9..=10).contains(&rejection.retry_after_secs.unwrap()), "{rejection:?}");
    assert!(rejection.error.contains("0.1 times a second, 2 at once"), "{rejection:?}");
    assert!(gate.rate(&Peer::user(0)).is_ok());
}

#[test]
fn a_batch_costs_as_many_reports_as_it_has() {
    let (gate, _grants) = gate(&[raid_grant()]);
    let peer = Peer::unit("raid-monitor.service", 7);
    gate.rate(&peer).unwrap();
    let batch: Vec<Status> = std::iter::repeat_n(report(), 5).flatten().collect();
    gate.admit(&peer, &batch).unwrap();
    // Five were taken, two are free: three owed, and one more to be there.
    let wait = gate.rate(&peer).unwrap_err().retry_after_secs.unwrap();
    assert!((39..=40).contains(&wait), "{wait}");
}

#[test]
fn the_account_names_who_was_rejected_and_why() {
    let (gate, _grants) = gate(&[]);
    for _ in 0..3 {
        let _ = gate.admit(&Peer::user(1000), &report());
    }
    let _ = gate.may_inject(&Peer::contained("docker-1.scope", 0));
    let views = gate.rejections();
    assert_eq!(views.len(), 2);
    assert_eq!(views[0].peer, "container:docker-1.scope (uid 0)");
    assert_eq!((views[1].peer.as_str(), views[1].source.as_str(), views[1].count), ("uid 1000", "raid", 3));
    assert_eq!(views[1].why, "may not report condition RaidProblem");
}

#[test]
fn what_an_earlier_run_left_at_the_socket_is_no_news() {
    let (mut gate, _grants) = gate(&[]);
    assert!(gate.admit(&Peer::ended(990), &report()).is_err(), "it may not report all the same");
    assert_eq!(gate.rejections(), []);
    assert!(gate.may_inject(&Peer::ended(7)).is_err());
    assert_eq!(gate.rejections().len(), 1, "no check process asks for that");
    gate.began = gate.began.saturating_sub(LEFTOVERS);
    assert!(gate.admit(&Peer::ended(990), &report()).is_err());
    assert_eq!(gate.rejections().len(), 2, "a hook that does not wait for its answer");
}
