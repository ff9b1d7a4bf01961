//! For how long an identity that was proven counts, and what ends that.

use super::*;

const AGES: Ages = Ages { good: Duration::from_secs(60), refused: Duration::from_secs(10) };

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(secs))
}

fn node(uid: &str) -> Node {
    Node { name: "n1".into(), uid: uid.into(), ..Node::default() }
}

fn methods(note: &str) -> Arc<ValidatedMethods> {
    Arc::new(ValidatedMethods { node: "n1".into(), notes: vec![note.into()], ..ValidatedMethods::default() })
}

/// Both levels were proven to be the node's at 100 s, and a third was refused.
fn proven() -> Memory {
    let mut memory = Memory::default();
    memory.configure(&node("u"), at(100), Ok(methods("a")));
    for level in [1, 2] {
        memory.identify(&node("u"), &methods("a"), Level(level), at(100), Ok(()));
    }
    memory.identify(&node("u"), &methods("a"), Level(3), at(100), Err(Blocker::new("IdentityUnproven", "")));
    memory
}

fn identified(memory: &Memory, level: u32, secs: u64) -> Option<bool> {
    memory.identified(&node("u"), &methods("a"), Level(level), at(secs), AGES).map(|found| found.is_ok())
}

#[test]
fn an_identity_counts_for_its_time_its_node_and_its_configuration() {
    let memory = proven();
    assert_eq!([159, 160].map(|secs| identified(&memory, 1, secs)), [Some(true), None]);
    assert_eq!([109, 110].map(|secs| identified(&memory, 3, secs)), [Some(false), None]);
    assert_eq!(identified(&memory, 4, 100), None);
    assert!(
        memory.identified(&node("v"), &methods("a"), Level(1), at(100), AGES).is_none(),
        "another Node of that name"
    );
    assert!(memory.identified(&node("u"), &methods("b"), Level(1), at(100), AGES).is_none(), "other methods");
}

#[test]
fn an_identity_is_forgotten_with_the_configuration_or_the_node_that_it_was_proven_for() {
    for (uid, note, counts) in [("u", "a", true), ("u", "b", false), ("v", "a", false), ("v", "b", false)] {
        let mut memory = proven();
        memory.configure(&node(uid), at(101), Ok(methods(note)));
        let found = memory.identified(&node(uid), &methods(note), Level(1), at(101), AGES);
        assert_eq!(found.is_some(), counts, "{uid} {note}");
    }
}

/// It may be another machine's address by now. What was refused waits for its time: no BMC is asked more often by this.
#[test]
fn a_level_that_did_not_answer_has_to_prove_again_whose_it_is() {
    for (level, is_answered, expected) in [
        (1, true, [Some(true), Some(true), Some(false)]),
        (1, false, [None, Some(true), Some(false)]),
        (2, false, [Some(true), None, Some(false)]),
        (3, false, [Some(true), Some(true), Some(false)]),
    ] {
        let memory = Mutex::new(proven());
        let question = Question { memory: &memory, node: "n1", level: Level(level), is_answered: false };
        if is_answered {
            question.answered()
        } else {
            drop(question)
        }
        let found = [1, 2, 3].map(|level| identified(&lock(&memory), level, 101));
        assert_eq!(found, expected, "{level} {is_answered}");
    }
}

/// Two askers of one BMC would ask it at once if one of them were given another turn.
#[test]
fn a_turn_stays_for_as_long_as_it_is_held_or_waited_for() {
    let mut memory = Memory::default();
    let held = memory.turn(1);
    drop(memory.turn(2));
    memory.forget(|_| true);
    assert_eq!(memory.turns.keys().collect::<Vec<_>>(), [&1]);
    assert!(Arc::ptr_eq(&memory.turn(1), &held));
}
