//! What several methods report of one machine, whether they are still those that an act meant, and what is in doubt after one
//! that failed.

use super::*;

/// Nothing that was asked proves nothing: a level without a way to ask is not off.
#[test]
fn a_machine_is_off_when_each_of_its_methods_reports_it() {
    use PowerState::{Off, On, Unknown};
    for (all, expected) in [
        (&[][..], Unknown),
        (&[Off], Off),
        (&[Off, Off], Off),
        (&[Off, On], On),
        (&[On, Unknown], On),
        (&[Off, Unknown], Unknown),
        (&[Unknown, Off], Unknown),
        (&[Unknown], Unknown),
    ] {
        assert_eq!(together(all), expected, "{all:?}");
    }
}

#[test]
fn methods_are_those_that_an_act_meant_if_they_cut_the_same_at_a_level_that_is_there() {
    let methods = |storage: Option<&str>, levels: usize| ValidatedMethods {
        storage_only: storage.map(str::to_owned),
        levels: vec![vec!["m".to_owned()]; levels],
        ..ValidatedMethods::default()
    };
    let scope = |storage: Option<&str>, level| FenceScope { storage: storage.map(str::to_owned), level: Level(level) };
    for (methods, scope, expected) in [
        (methods(None, 1), scope(None, 1), true),
        (methods(None, 1), scope(None, 2), false),
        (methods(None, 2), scope(None, 2), true),
        (methods(None, 2), scope(None, 3), false),
        (methods(Some("san"), 1), scope(None, 1), false),
        (methods(None, 1), scope(Some("san"), 1), false),
        (methods(Some("san"), 1), scope(Some("nas"), 1), false),
        (methods(Some("san"), 1), scope(Some("san"), 1), true),
    ] {
        assert_eq!(is_of(&methods, &scope), expected, "{methods:?} {scope:?}");
    }
}

#[test]
fn what_was_not_begun_is_in_doubt_once_another_method_has_acted() {
    let not_begun = || Failed::NotBegun("no Secret".into());
    let done = ["pdu1".to_owned(), "pdu2".to_owned()];
    assert_eq!(begun(not_begun(), &[]), not_begun());
    assert_eq!(begun(not_begun(), &done), Failed::InDoubt("no Secret; done before: pdu1, pdu2".into()));
    let refused = || Failed::Refused("no".into());
    assert_eq!((begun(refused(), &[]), begun(refused(), &done)), (refused(), refused()));
}
