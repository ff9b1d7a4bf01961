//! Renewals: what the Lease says, what a lost answer proves, and that no term outlasts them.

use nodewell_remediation::decide::Handover;

use super::*;

/// Leads since 15 s, with the Lease as it is stored.
async fn leading(cluster: &OneLease) -> (Candidate<'_, OneLease>, Term) {
    let (mut one, term) = candidate(cluster, "one", 1000);
    run_for(&mut one, 18).await;
    assert_eq!(leads(&term), Some(1));
    (one, term)
}

fn stored(cluster: &OneLease) -> Leadership {
    cluster.0.borrow().lease.clone().expect("it is there")
}

fn until(term: &Term) -> Option<Moment> {
    term.borrow().as_ref().map(LeaseDeadline::until)
}

async fn pass(secs: u64) {
    tokio::time::sleep(Duration::from_secs(secs)).await;
}

/// What kubectl shows of it, and other candidates wait by.
#[tokio::test(start_paused = true)]
async fn the_lease_names_its_holder_and_since_when() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 1000);
    while leads(&term).is_none() {
        run_for(&mut one, 1).await;
    }
    let taken = stored(&cluster);
    assert!(taken.renewed.is_some() && taken.renewed == taken.acquired, "{taken:?}");
    run_for(&mut one, 3).await;
    let lease = stored(&cluster);
    assert_eq!((lease.holder.as_str(), lease.duration, lease.transitions), ("one", Duration::from_secs(15), 1));
    let (acquired, renewed) = (lease.acquired.expect("it has one"), lease.renewed.expect("it has one"));
    assert!(acquired >= Timestamp::constant(1000, 0) && renewed > acquired, "{acquired} {renewed}");
    pass(3).await;
    one.renew().await;
    assert_eq!((stored(&cluster).renewed, stored(&cluster).acquired), (Some(one.clock.wall()), lease.acquired));
    pass(3).await;
    one.resign().await;
    assert_eq!((stored(&cluster).holder.as_str(), stored(&cluster).renewed), ("", Some(one.clock.wall())));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_without_an_answer_counts_if_it_is_stored_and_not_otherwise() {
    for (is_done, counts) in [(true, true), (false, false)] {
        let cluster = OneLease::default();
        let (mut one, term) = leading(&cluster).await;
        pass(4).await;
        let before = until(&term);
        cluster.0.borrow_mut().lost = Some(is_done);
        one.renew().await;
        let expected = if counts { Some(one.clock.moment().plus(Duration::from_secs(13))) } else { before };
        assert_eq!(until(&term), expected, "{is_done}");
        // The version that is stored is known from here on.
        one.renew().await;
        assert_eq!(until(&term), Some(one.clock.moment().plus(Duration::from_secs(13))));
    }
}

/// One that names this replica in another term is no more its own than one that names another replica.
#[tokio::test(start_paused = true)]
async fn a_term_ends_when_the_lease_names_another_holder_or_another_term() {
    let changes: [fn(&mut Leadership); 3] = [
        |lease| lease.holder = "two".into(),
        |lease| lease.transitions = 2,
        |lease| (lease.holder, lease.transitions) = ("two".into(), 2),
    ];
    for change in changes {
        let cluster = OneLease::default();
        let (mut one, term) = leading(&cluster).await;
        let mut lease = stored(&cluster);
        lease.resource_version = "77".into();
        change(&mut lease);
        (cluster.0.borrow_mut().version, cluster.0.borrow_mut().lease) = (77, Some(lease.clone()));
        one.renew().await;
        assert_eq!(leads(&term), None, "{lease:?}");
    }
    let cluster = OneLease::default();
    let (mut one, term) = leading(&cluster).await;
    let annotated = Leadership { resource_version: "77".into(), ..stored(&cluster) };
    (cluster.0.borrow_mut().version, cluster.0.borrow_mut().lease) = (77, Some(annotated));
    one.renew().await;
    assert_eq!(leads(&term), Some(1), "another client changed something else of it");
    cluster.0.borrow_mut().lease = None;
    one.renew().await;
    assert_eq!(leads(&term), None, "it was deleted");
}

/// Although the Lease of the backup names this replica and this term.
#[tokio::test(start_paused = true)]
async fn a_renewal_that_finds_an_older_store_ends_the_term_itself() {
    let cluster = OneLease::default();
    let (mut one, term) = leading(&cluster).await;
    let backup = stored(&cluster);
    pass(3).await;
    one.renew().await;
    (cluster.0.borrow_mut().version, cluster.0.borrow_mut().lease) =
        (backup.resource_version.parse().expect("a number"), Some(backup));
    one.renew().await;
    assert_eq!(leads(&term), None);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_refused_ends_the_term_as_soon_as_its_time_is_over() {
    let cluster = OneLease::default();
    let (mut one, term) = leading(&cluster).await;
    one.renew().await;
    (cluster.0.borrow_mut().refuses, cluster.0.borrow_mut().slow) = (true, Duration::from_secs(2));
    pass(9).await;
    one.renew().await;
    assert_eq!(leads(&term), None, "11 s after the last renewal, and not at the next try");
}

/// There is time for a second try before giving up, and none for a third of the time that others wait.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_hangs_is_given_up_in_time_and_one_that_is_slow_is_not() {
    let cluster = OneLease::default();
    let (mut one, term) = leading(&cluster).await;
    cluster.0.borrow_mut().slow = Duration::from_secs(1);
    run_for(&mut one, 60).await;
    assert_eq!(leads(&term), Some(1));
    cluster.0.borrow_mut().slow = Duration::from_secs(3600);
    run_for(&mut one, 15).await;
    assert_eq!(leads(&term), None);
}

/// Terms that it does not know may have had the numbers.
#[tokio::test(start_paused = true)]
async fn a_replica_that_has_not_listed_the_records_does_not_lead() {
    let cluster = OneLease::default();
    let clock = Clock::counted(Timestamp::constant(0, 0));
    let cache = Cache::new(clock, Limits::default());
    let (mut one, term) = Candidate::new(&cluster, cache.clone(), clock, Terms::new("one"));
    run_for(&mut one, 60).await;
    assert_eq!((leads(&term), cache.newest_epoch()), (None, None));
    cache.listed(Source::Fences, &Default::default());
    run_for(&mut one, 3).await;
    assert_eq!((leads(&term), cache.newest_epoch()), (Some(1), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn work_is_done_in_each_term_and_in_none_that_is_over() {
    let clock = Clock::counted(Timestamp::constant(0, 0));
    let (sender, term) = watch::channel(None);
    let worked = RefCell::new(Vec::new());
    let begin = |epoch, secs| {
        let (until, receiver) = watch::channel(clock.moment().plus(Duration::from_secs(secs)));
        sender.send_replace(Some(LeaseDeadline::new(epoch, receiver)));
        until
    };
    let work = in_each(term, clock, async |lease_deadline: LeaseDeadline| {
        worked.borrow_mut().push(lease_deadline.epoch);
        tokio::time::sleep(Duration::from_secs(10)).await;
    });
    let terms = async {
        pass(1).await;
        let first = begin(7, 5);
        pass(20).await;
        drop((first, begin(8, 5)));
        pass(20).await;
        let third = begin(9, 60);
        pass(1).await;
        third
    };
    tokio::select! {
        () = work => {}
        _ = terms => {}
    }
    assert_eq!(worked.into_inner(), [7, 9]);
}

fn a_handover_of(bytes: usize) -> Handover {
    let of = |policy: String| serde_json::json!({ "pods": [{ "policy": policy, "node": "n", "age": 1, "pods": 7 }] });
    let empty = serde_json::to_string(&serde_json::from_value::<Handover>(of(String::new())).unwrap()).unwrap().len();
    serde_json::from_value(of("x".repeat(bytes - empty))).unwrap()
}

/// All annotations of an object have to fit in 256 KiB: a renewal must not fail for this.
#[tokio::test(start_paused = true)]
async fn a_handover_that_is_too_long_is_one_that_cannot_be_read() {
    for (bytes, is_lost) in [(1000, false), (200_000, false), (200_001, true), (300_000, true)] {
        let mut lease = Leadership::default();
        let handover = a_handover_of(bytes);
        handover::write(Some(handover.clone()), &mut lease);
        let expected = if is_lost { Handover::lost() } else { handover };
        assert!(handover::read(&lease) == expected, "{bytes}");
    }
}
