use super::*;

/// The user of `nodewell-disk.service`.
const DISK: u32 = 991;

fn permits() -> Permits {
    let limits = SocketLimits { connections: 6, reserved: 2, connections_per_peer: 3, ..SocketLimits::default() };
    Permits::new(limits, 990, vec![DISK], Arc::default())
}

fn take(permits: &Permits, peer: &Arc<Peer>) -> Permit {
    permits.take(peer).map_err(drop).unwrap()
}

#[test]
fn a_user_gets_its_share_and_no_more() {
    let permits = permits();
    let _held: Vec<_> = (0..3).map(|_| take(&permits, &Peer::user(1000))).collect();
    assert_eq!(permits.take(&Peer::user(1000)).err(), Some(Full::Peer));
    assert!(permits.take(&Peer::user(1001)).is_ok());
}

#[test]
fn two_units_of_one_user_are_two_peers() {
    let permits = permits();
    let held: Vec<_> = (0..3).map(|_| take(&permits, &Peer::unit("x.service", 65534))).collect();
    assert_eq!(permits.take(&Peer::unit("x.service", 65534)).err(), Some(Full::Peer));
    drop(permits.take(&Peer::unit("y.service", 65534)).map_err(drop).unwrap());
    drop(held);
}

#[test]
fn users_cannot_shut_root_out() {
    let permits = permits();
    let _held: Vec<_> = (0..4).map(|uid| take(&permits, &Peer::user(1000 + uid))).collect();
    assert_eq!(permits.take(&Peer::user(2000)).err(), Some(Full::All));
    let _root = take(&permits, &Peer::user(0));
    let _own = take(&permits, &Peer::user(990));
    assert_eq!(permits.take(&Peer::user(0)).err(), Some(Full::All));
}

#[test]
fn users_cannot_shut_a_check_process_out() {
    let permits = permits();
    let _held: Vec<_> = (0..4).map(|uid| take(&permits, &Peer::user(1000 + uid))).collect();
    // Its user alone is not it, nor is its unit's name in a container.
    for other in [Peer::user(DISK), Peer::unit("other.service", DISK), Peer::contained("nodewell-disk.service", DISK)] {
        assert_eq!(permits.take(&other).err(), Some(Full::All));
    }
    let _own: Vec<_> = (0..2).map(|_| take(&permits, &Peer::unit("nodewell-disk.service", DISK))).collect();
}

#[test]
fn root_and_a_check_process_are_only_bound_by_the_whole() {
    for peer in [|| Peer::unit("other.service", 0), || Peer::unit("nodewell-disk.service", DISK)] {
        let permits = permits();
        let _held: Vec<_> = (0..6).map(|_| take(&permits, &peer())).collect();
        assert_eq!(permits.take(&Peer::user(0)).err(), Some(Full::All));
    }
}

#[test]
fn a_containers_root_has_no_more_than_any_peer_and_shuts_no_peer_out() {
    let permits = permits();
    let pod = || Peer::contained("cri-containerd-1.scope", 0);
    let _held: Vec<_> = (0..3).map(|_| take(&permits, &pod())).collect();
    assert_eq!(permits.take(&pod()).err(), Some(Full::Peer));
    assert_eq!(permits.refuse(&pod(), Full::Peer), Refusal::Peer { limit: 3 });
    assert_eq!(permits.counters.refused.peer.load(Ordering::Relaxed), 1);
    // What is reserved is for the host's own root.
    let _one = take(&permits, &Peer::user(1000));
    // Another name for the container is no other peer: names are free to choose.
    assert_eq!(permits.take(&Peer::contained("other", 0)).err(), Some(Full::Peer));
    let _root: Vec<_> = (0..2).map(|_| take(&permits, &Peer::at(crate::socket::peer::CgroupOwner::Host, 0))).collect();
}

#[test]
fn a_closed_connection_gives_its_permit_back() {
    let permits = permits();
    for _ in 0..20 {
        assert!(permits.take(&Peer::user(1000)).is_ok());
    }
    assert!(lock(&permits.held).peers.is_empty());
}

#[tokio::test]
async fn one_that_follows_another_waits_for_its_end() {
    let permits = permits();
    let mut held: Vec<_> = (0..3).map(|_| take(&permits, &Peer::user(1000))).collect();
    let follower = Peer::user(1000);
    let waits = permits.wait(&follower);
    let ends = async { drop(held.pop()) };
    assert!(tokio::join!(waits, ends).0.is_ok());
}

/// Another unit of its user fills up what the user may have, so that it is looked at.
#[tokio::test]
async fn a_unit_that_shares_its_user_waits_for_its_own_connections() {
    let limits = SocketLimits { connections: 20, connections_per_peer: 3, ..SocketLimits::default() };
    let permits = Permits::new(limits, 990, vec![DISK], Arc::default());
    let all_of = |unit: &str| (0..3).map(|_| take(&permits, &Peer::unit(unit, 65534))).collect::<Vec<_>>();
    let (_others, mut own) = (all_of("x.service"), all_of("y.service"));
    let next = Peer::unit("y.service", 65534);
    let waits = permits.wait(&next);
    let ends = async { drop(own.pop()) };
    assert!(tokio::join!(waits, ends).0.is_ok());
}

#[tokio::test(start_paused = true)]
async fn one_that_waits_in_vain_is_refused() {
    let permits = permits();
    let _held: Vec<_> = (0..3).map(|_| take(&permits, &Peer::user(1000))).collect();
    assert_eq!(permits.wait(&Peer::user(1000)).await.err(), Some(Full::Peer));
}

#[test]
fn a_flood_of_refused_connects_is_looked_at_a_bounded_number_of_times() {
    let mut looks = Looks::default();
    let (pod, root) = (Peer::contained("x", 0), Peer::user(0));
    let now = std::time::Duration::from_secs(1000);
    let looked = (0..10_000).filter(|_| looks.may_look(&pod, true, now)).count();
    assert_eq!(looked, 100);
    // A second later there are tokens again; and one that was refused is not looked at for a while.
    let later = now + std::time::Duration::from_secs(1);
    assert!(looks.may_look(&root, true, later));
    looks.remember(&pod, later);
    assert!(!looks.may_look(&pod, true, later));
    // It goes on trying, and is refused for no longer by that.
    looks.remember(&pod, later + std::time::Duration::from_millis(900));
    assert!(looks.may_look(&pod, true, later + std::time::Duration::from_secs(1)));
}
