use super::{super::peer::Peer, *};

fn at(secs: u64) -> Now {
    Now { wall: Timestamp::from_second(1_000_000 + secs as i64).unwrap(), boottime: Duration::from_secs(1000 + secs) }
}

#[test]
fn the_newest_comes_first_and_the_oldest_makes_room() {
    let mut account = Account::default();
    for uid in 0..100 {
        account.add(Peer::user(1000 + uid).identity(), "raid", "why", at(uid.into()));
    }
    account.add(Peer::user(1050).identity(), "raid", "again", at(200));
    assert_eq!(account.entries.len(), ENTRIES_LIMIT);
    let views = account.views();
    assert_eq!(views.len(), SHOWN_LIMIT);
    assert_eq!((views[0].peer.as_str(), views[0].count, views[0].why.as_str()), ("uid 1050", 2, "again"));
    assert_eq!(views[1].peer, "uid 1099");
    assert_eq!(views[0].last, at(200).wall);
}

#[test]
fn the_journal_hears_of_a_peer_once_and_then_once_a_minute() {
    let mut account = Account::default();
    let peer = Peer::user(1000);
    let mut logged = Vec::new();
    for secs in 0..150 {
        // A new source each time is no new peer.
        account.add(peer.identity(), &format!("raid{secs}"), "why", at(secs));
        let newest = account.entries.last().unwrap();
        if newest.unlogged == 0 {
            logged.push(secs);
        }
    }
    assert_eq!(logged, [0, 60, 120]);
}

#[test]
fn peers_without_number_do_not_flood_the_journal() {
    let mut account = Account::default();
    let mut logged = 0;
    for uid in 0..1000 {
        account.add(Peer::user(1000 + uid).identity(), "raid", "why", at(0));
        logged += u32::from(account.entries.last().unwrap().unlogged == 0);
    }
    assert_eq!(logged, JOURNAL_RATE.burst);
}

#[test]
fn what_a_peer_calls_itself_is_bounded_and_one_line() {
    let mut account = Account::default();
    account.add(
        Peer::user(1000).identity(),
        &"a\n\u{1b}\u{202e}\u{200b}\u{2028}".repeat(1000),
        &"ü".repeat(1000),
        at(0),
    );
    let view = &account.views()[0];
    assert!(view.source.len() <= WORD_LIMIT_BYTES && !view.source.contains(is_hidden), "{:?}", view.source);
    assert!(view.source.starts_with("a     a"), "{:?}", view.source);
    assert!(view.why.len() <= WHY_LIMIT_BYTES);
}
