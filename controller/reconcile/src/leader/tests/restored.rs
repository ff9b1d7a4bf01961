//! A store that is set back takes the Lease with it.

use super::*;

/// The store is what it was, with versions and all.
fn set_back(cluster: &OneLease, to: &Leadership) {
    let mut stored = cluster.0.borrow_mut();
    stored.version = to.resource_version.parse().unwrap();
    stored.lease = Some(to.clone());
}

/// As its watches do when the store went back; no replica leads before.
fn list_again(candidate: &Candidate<'_, OneLease>) {
    candidate.cache.ask_list(Source::Fences, "");
    candidate.cache.list_began(Source::Fences, "1");
    candidate.cache.listed(Source::Fences, &Default::default());
}

fn stored(cluster: &OneLease) -> Leadership {
    cluster.0.borrow().lease.clone().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_number_is_given_once_although_the_lease_that_counts_them_went_back() {
    let cluster = OneLease::default();
    let (mut one, first) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let backup = stored(&cluster);
    one.resign().await;
    let (mut two, second) = candidate(&cluster, "two", 0);
    run_for(&mut two, 1).await;
    run_for(&mut one, 1).await;
    assert_eq!((leads(&first), leads(&second)), (None, Some(2)));
    set_back(&cluster, &backup);
    run_for(&mut one, 3).await;
    list_again(&one);
    run_for(&mut one, 15).await;
    assert!(leads(&first).unwrap() > 2, "{:?}", leads(&first));
}

/// After another one has resigned.
async fn leads_the_second_term(cluster: &OneLease) -> Candidate<'_, OneLease> {
    let (mut two, second) = candidate(cluster, "two", 0);
    run_for(&mut two, 1).await;
    assert_eq!(leads(&second), Some(2));
    two
}

/// It was cut off from before the backup until after the restore: to it nothing went back.
#[tokio::test(start_paused = true)]
async fn who_saw_no_later_term_gives_none_of_their_numbers() {
    let cluster = OneLease::default();
    let (mut blind, third) = candidate(&cluster, "blind", 0);
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    run_for(&mut blind, 1).await;
    let backup = stored(&cluster);
    one.resign().await;
    let mut two = leads_the_second_term(&cluster).await;
    set_back(&cluster, &backup);
    tokio::join!(run_for(&mut two, 40), run_for(&mut blind, 40));
    assert!(leads(&third).unwrap() > SKIPPED, "{:?}", leads(&third));
}

/// The backup is of a moment at which no replica led: one that takes it at once begins before the old term's agents end.
#[tokio::test(start_paused = true)]
async fn a_lease_that_was_free_in_the_backup_is_counted_on_and_has_to_run_out() {
    let cluster = OneLease::default();
    let (mut blind, third) = candidate(&cluster, "blind", 0);
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    one.resign().await;
    let backup = stored(&cluster);
    leads_the_second_term(&cluster).await;
    let (mut three, fourth) = candidate(&cluster, "three", 0);
    run_for(&mut three, 1).await;
    set_back(&cluster, &backup);
    run_for(&mut three, 3).await;
    tokio::join!(run_for(&mut three, 9), run_for(&mut blind, 9));
    assert_eq!((leads(&third), leads(&fourth)), (None, None), "it is held by none, and runs out");
    tokio::join!(run_for(&mut three, 40), run_for(&mut blind, 40));
    let next = leads(&third).or(leads(&fourth));
    assert!(next.unwrap() > SKIPPED, "{next:?}");
}

/// Its writes got no answer, and none of them was done.
#[tokio::test(start_paused = true)]
async fn a_term_that_was_only_tried_disturbs_no_leader() {
    let cluster = OneLease::default();
    let (mut two, _) = candidate(&cluster, "two", 0);
    cluster.0.borrow_mut().lost = Some(false);
    for _ in 0..3 {
        run_for(&mut two, 18).await;
        cluster.0.borrow_mut().lost = Some(false);
    }
    cluster.0.borrow_mut().lost = None;
    let (mut one, first) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let number = leads(&first);
    assert!(number.is_some());
    tokio::join!(run_for(&mut one, 10), run_for(&mut two, 10));
    assert_eq!(leads(&first), number);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_run_has_seen_counts_for_all_candidates() {
    let cluster = OneLease::default();
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let (mut two, _) = candidate(&cluster, "two", 0);
    two.cache.saw_epoch(9);
    run_for(&mut two, 1).await;
    let (mut new, term) = candidate(&cluster, "new", 0);
    run_for(&mut new, 18).await;
    assert!(leads(&term).unwrap() > 9 + SKIPPED, "{:?}", leads(&term));
    run_for(&mut one, 1).await;
    assert_eq!(stored(&cluster).holder, "new");
}

#[tokio::test(start_paused = true)]
async fn a_term_ends_when_the_store_went_back_though_the_lease_still_names_its_leader() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let backup = stored(&cluster);
    run_for(&mut one, 10).await;
    set_back(&cluster, &backup);
    run_for(&mut one, 3).await;
    assert_eq!(leads(&term), None);
    list_again(&one);
    run_for(&mut one, 18).await;
    assert!(leads(&term).unwrap() > SKIPPED, "terms that no replica saw may have had the numbers between");
    run_for(&mut one, 40).await;
    assert!(leads(&term).is_some(), "and it is over with that");
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_shows_of_the_store_ends_the_term_at_once() {
    let cluster = OneLease::default();
    let (mut one, term) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let cache = one.cache.clone();
    let shown = async {
        cache.ask_list(Source::Nodes, "9");
        cache.list_began(Source::Nodes, "7");
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(leads(&term), None);
    };
    tokio::select! {
        () = one.run() => {}
        () = shown => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_released_in_a_backup_is_not_taken_at_once() {
    let cluster = OneLease::default();
    let (mut one, first) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    one.resign().await;
    let backup = stored(&cluster);
    leads_the_second_term(&cluster).await;
    run_for(&mut one, 1).await;
    set_back(&cluster, &backup);
    run_for(&mut one, 3).await;
    list_again(&one);
    run_for(&mut one, 9).await;
    assert_eq!(leads(&first), None, "two may act until its lease deadline");
    run_for(&mut one, 8).await;
    assert!(leads(&first).is_some());
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_run_has_seen_counts() {
    let cluster = OneLease::default();
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    one.resign().await;
    let (mut two, term) = candidate(&cluster, "two", 0);
    two.cache.saw_epoch(9);
    run_for(&mut two, 10).await;
    assert_eq!(leads(&term), None, "a Lease that is behind may be a backup's");
    run_for(&mut two, 8).await;
    assert_eq!(leads(&term), Some(10 + SKIPPED), "another candidate may not have known of it");
}

#[tokio::test(start_paused = true)]
async fn who_did_not_look_for_a_while_counts_again() {
    let cluster = OneLease::default();
    let (mut one, _) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let (mut two, term) = candidate(&cluster, "two", 0);
    run_for(&mut two, 3).await;
    tokio::time::advance(Duration::from_secs(13)).await;
    run_for(&mut two, 3).await;
    assert_eq!(leads(&term), None, "the store may have been set back to this very Lease");
    run_for(&mut two, 14).await;
    assert_eq!(leads(&term), Some(2));
}

#[tokio::test(start_paused = true)]
async fn after_another_term_a_lease_is_taken_at_once_again() {
    let cluster = OneLease::default();
    let (mut one, first) = candidate(&cluster, "one", 0);
    run_for(&mut one, 18).await;
    let backup = stored(&cluster);
    run_for(&mut one, 10).await;
    let (mut two, second) = candidate(&cluster, "two", 0);
    run_for(&mut two, 1).await;
    set_back(&cluster, &backup);
    run_for(&mut two, 3).await;
    run_for(&mut one, 1).await;
    list_again(&two);
    run_for(&mut two, 18).await;
    assert!(leads(&second).unwrap() > SKIPPED);
    run_for(&mut one, 1).await;
    two.resign().await;
    list_again(&one);
    run_for(&mut one, 3).await;
    assert_eq!(leads(&first).unwrap(), stored(&cluster).transitions);
}
