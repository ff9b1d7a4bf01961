//! A leader whose own host needs remediation lets another lead, if there is one, and only then.

use super::*;

const LONG: Duration = Duration::from_secs(100_000);

/// A candidate that sees the whole cluster for as long as the test lasts.
fn seeing<'a>(cluster: &'a OneLease, name: &str) -> (Candidate<'a, OneLease>, Term) {
    let clock = Clock::counted(Timestamp::constant(0, 0));
    let cache = Cache::new(clock, Limits { leases: LONG, others: LONG });
    for source in [Source::Nodes, Source::KubeletLeases, Source::Fences, Source::Policies] {
        cache.listed(source, &Default::default());
    }
    Candidate::new(cluster, cache, clock, Terms::new(name))
}

fn set_in_need(candidate: &Candidate<'_, OneLease>, is: bool) {
    candidate.cache.set_host(|host| host.in_need = is);
}

fn is_only(candidate: &Candidate<'_, OneLease>) -> bool {
    candidate.cache.with(|snapshot| snapshot.host.is_only)
}

async fn run_both(one: &mut Candidate<'_, OneLease>, two: &mut Candidate<'_, OneLease>, secs: u64) {
    tokio::join!(run_for(one, secs), run_for(two, secs));
}

#[tokio::test(start_paused = true)]
async fn a_leader_in_need_is_succeeded_within_seconds_and_the_lead_does_not_come_back() {
    let cluster = OneLease::default();
    let ((mut one, first), (mut two, second)) = (seeing(&cluster, "one"), seeing(&cluster, "two"));
    run_for(&mut one, 18).await;
    run_both(&mut one, &mut two, 10).await;
    assert_eq!((leads(&first), leads(&second)), (Some(1), None), "while its host is well nothing changes");
    set_in_need(&one, true);
    run_both(&mut one, &mut two, 8).await;
    assert_eq!((leads(&first), leads(&second)), (None, Some(2)));
    run_both(&mut one, &mut two, 600).await;
    assert_eq!((leads(&first), leads(&second)), (None, Some(2)), "it does not stand against one that leads");
    set_in_need(&one, false);
    run_both(&mut one, &mut two, 600).await;
    assert_eq!((leads(&first), leads(&second)), (None, Some(2)), "nor takes the lead back when it is well");
    let annotations = cluster.0.borrow().lease.clone().unwrap().annotations;
    assert!(annotations.keys().all(|key| !key.contains("successor")), "{annotations:?}");
}

#[tokio::test(start_paused = true)]
async fn a_term_has_ended_before_the_lease_is_released() {
    let cluster = OneLease::default();
    let ((mut one, first), (mut two, _)) = (seeing(&cluster, "one"), seeing(&cluster, "two"));
    run_for(&mut one, 18).await;
    let lease_deadline = first.borrow().clone().unwrap();
    set_in_need(&one, true);
    let clock = one.clock;
    let look = async {
        while cluster.0.borrow().lease.as_ref().is_some_and(|lease| lease.holder == "one") {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(!lease_deadline.is_ahead(clock.moment()), "released under what hangs on the term");
    };
    tokio::join!(run_both(&mut one, &mut two, 10), timeout(Duration::from_secs(9), look)).1.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_only_replica_leads_on_and_knows_that_it_is() {
    let cluster = OneLease::default();
    let (mut one, term) = seeing(&cluster, "one");
    run_for(&mut one, 18).await;
    set_in_need(&one, true);
    run_for(&mut one, 8).await;
    assert!(!is_only(&one), "another may answer yet");
    run_for(&mut one, 8).await;
    assert!(is_only(&one));
    assert_eq!(leads(&term), Some(1));
    // One that comes later is heard, too.
    let (mut two, second) = seeing(&cluster, "two");
    run_both(&mut one, &mut two, 10).await;
    assert_eq!((leads(&term), leads(&second), is_only(&one)), (None, Some(2), false));
}

#[tokio::test(start_paused = true)]
async fn two_hosts_in_need_leave_the_lead_where_it_is() {
    let cluster = OneLease::default();
    let ((mut one, first), (mut two, second)) = (seeing(&cluster, "one"), seeing(&cluster, "two"));
    run_for(&mut one, 18).await;
    set_in_need(&one, true);
    set_in_need(&two, true);
    run_both(&mut one, &mut two, 600).await;
    assert_eq!((leads(&first), leads(&second), is_only(&one)), (Some(1), None, true));
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_does_not_see_the_cluster_offers_nothing() {
    let cluster = OneLease::default();
    let ((mut one, first), (mut two, second)) = (seeing(&cluster, "one"), seeing(&cluster, "two"));
    run_for(&mut one, 18).await;
    two.cache.lost(Source::Nodes);
    set_in_need(&one, true);
    run_both(&mut one, &mut two, 60).await;
    assert_eq!((leads(&first), leads(&second)), (Some(1), None));
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_ends_first_but_not_for_ever() {
    let cluster = OneLease::default();
    let ((mut one, first), (mut two, second)) = (seeing(&cluster, "one"), seeing(&cluster, "two"));
    run_for(&mut one, 18).await;
    one.cache.with(|snapshot| snapshot.busy.insert("n7".into()));
    set_in_need(&one, true);
    run_both(&mut one, &mut two, 20).await;
    assert_eq!((leads(&first), leads(&second)), (Some(1), None), "an act is under way");
    run_both(&mut one, &mut two, 25).await;
    assert_eq!((leads(&first), leads(&second)), (None, Some(2)));
}

#[tokio::test(start_paused = true)]
async fn a_host_in_need_takes_a_free_lease_last() {
    let cluster = OneLease::default();
    let (mut one, _) = seeing(&cluster, "one");
    run_for(&mut one, 18).await;
    one.resign().await;
    let (mut two, second) = seeing(&cluster, "two");
    set_in_need(&two, true);
    run_for(&mut two, 12).await;
    assert_eq!(leads(&second), None, "others have time to take it");
    run_for(&mut two, 8).await;
    assert_eq!(leads(&second), Some(2), "and none does");
}
