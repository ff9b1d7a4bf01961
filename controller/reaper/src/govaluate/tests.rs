//! Expressions as node-reaper's users write them, with the results that govaluate has for them.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_remediation::{
    facts::{Condition, ConditionStatus, Effect, LeaseView, Node, Taint},
    snapshot::Snapshot,
    time::{Moment, Now},
};
use proptest::prelude::*;

use super::{Expression, Value};

fn node() -> Node {
    let condition = |kind: &str, status, reason: &str| Condition {
        kind: kind.to_owned(),
        status,
        reason: reason.to_owned(),
        change_seen_at: Moment(Duration::from_secs(100)),
        ..Condition::default()
    };
    Node {
        name: "n1".into(),
        uid: "u1".into(),
        resource_version: "1".into(),
        labels: [("role".into(), "worker".into()), ("kubernetes.io/role".into(), "node".into())].into(),
        annotations: [("note".into(), "keep".into())].into(),
        taints: vec![Taint { key: "gpu".into(), value: String::new(), effect: Effect::NoSchedule }],
        conditions: vec![
            condition("Ready", ConditionStatus::Unknown, "NodeStatusUnknown"),
            condition("DiskPressure", ConditionStatus::False, ""),
        ],
        ..Node::default()
    }
}

fn now() -> Now {
    Now { moment: Moment(Duration::from_secs(160)), wall: Timestamp::from_second(3600).unwrap() }
}

fn snapshot() -> Snapshot {
    let lease = LeaseView {
        resource_version: String::new(),
        holder: "n1".into(),
        renewed: None,
        duration: Duration::from_secs(40),
        change_seen_at: Moment(Duration::from_secs(115)),
    };
    Snapshot { kubelet_leases: [("n1".into(), lease)].into(), ..Snapshot::default() }
}

fn judge(text: &str) -> Result<bool, String> {
    Expression::parse(text)?.judge(&node(), &snapshot(), now())
}

fn value(text: &str) -> Value {
    let lookup = |name: &str| match name {
        "yes" => Value::Bool(true),
        "text" => Value::from("abc"),
        _ => Value::Nil,
    };
    Expression::parse(text).and_then(|expression| expression.evaluate(lookup)).unwrap_or_else(|error| panic!("{error}"))
}

fn fails(text: &str) -> String {
    judge(text).expect_err(text)
}

#[test]
fn the_default_predicates_of_node_reaper_are_understood() {
    let reap = "Cordoned == false && [Labels.kubernetes.io/role] != 'master' && [Conditions.Ready] != 'True'";
    assert_eq!(judge(reap), Ok(true));
    let unhealthy = "Cordoned == true || [Conditions.OutOfDisk] != 'False' || [Conditions.MemoryPressure] != 'False'
        || [Conditions.DiskPressure] != 'False' || [Conditions.Ready] != 'True'";
    assert_eq!(judge(unhealthy), Ok(true));
}

#[test]
fn what_the_node_has_not_is_nil_and_unequal_to_every_string() {
    assert_eq!(judge("[Conditions.OutOfDisk] != 'False'"), Ok(true));
    assert_eq!(judge("[Conditions.OutOfDisk] == [Labels.nothing]"), Ok(true));
    assert_eq!(judge("[Conditions.OutOfDisk] == ()"), Ok(true));
}

#[test]
fn equality_never_converts() {
    for (text, expected) in
        [("Cordoned == 'false'", false), ("1 == '1'", false), ("1 == 1.0", true), ("'a' == \"a\"", true)]
    {
        assert_eq!(judge(text), Ok(expected), "{text}");
    }
}

#[test]
fn both_sides_of_and_and_or_are_always_evaluated() {
    for text in ["true || 1", "false && 1", "1 || true", "true || [Conditions.OutOfDisk]", "true || nothing < 1"] {
        fails(text);
    }
    assert_eq!(judge("true || false && false"), Ok(true));
}

#[test]
fn order_needs_two_numbers_or_two_strings() {
    assert_eq!(judge("'a' < 'b'"), Ok(true));
    assert_eq!(judge("2 >= 2"), Ok(true));
    assert!(fails("1 < '2'").contains("no order"));
    assert!(fails("nothing > 1").contains("no order"));
    assert!(fails("true >= true").contains("no order"));
}

#[test]
fn operators_of_one_level_are_taken_from_left_to_right() {
    for (text, expected) in [
        ("10 - 4 - 3", 3.0),
        ("100 / 10 / 5", 2.0),
        ("2 ** 3 ** 2", 64.0),
        ("2 * 7 % 4", 2.0),
        ("10 - 2 * 3", 4.0),
        ("1 + 2 << 1", 6.0),
        ("6 & 3 | 8", 10.0),
        ("1 | 2 << 2", 9.0),
        ("-2 ** 2", 4.0),
        ("1 << 64", 0.0),
        ("~0", -1.0),
        ("5 ^ 1", 4.0),
        ("1 << 63", 9_223_372_036_854_775_808.0),
        ("2 ** 63 >> 62", 2.0),
        ("-1 >> 63", 1.0),
        ("2 ** 64 & 1", 0.0),
        ("2 ** 63 | 0", -9_223_372_036_854_775_808.0),
        ("-7 % 4", -3.0),
        ("0x1F", 31.0),
        (".5 + 1.", 1.5),
        ("(1 + 2) * 3", 9.0),
    ] {
        assert_eq!(value(text), Value::Number(expected), "{text}");
    }
}

#[test]
fn comparators_bind_looser_than_arithmetic_and_tighter_than_logic() {
    assert_eq!(judge("1 + 1 == 2 && 3 > 2 || nothing == 1"), Ok(true));
    assert_eq!(judge("1 == 1 == true"), Ok(true));
    assert_eq!(judge("!(1 == 2)"), Ok(true));
    assert_eq!(judge("! Cordoned"), Ok(true));
}

#[test]
fn the_ternary_is_two_operators_from_left_to_right() {
    assert_eq!(value("yes ? 1 : 2"), Value::Number(1.0));
    assert_eq!(value("!yes ? 1 : 2"), Value::Number(2.0));
    assert_eq!(value("nothing ?? 'x'"), Value::from("x"));
    assert_eq!(value("text ?? 'x'"), Value::from("abc"));
    assert_eq!(value("!yes ? 1"), Value::Nil);
    // ((((false ? 1) : true) ? 3) : 4)
    assert_eq!(value("!yes ? 1 : yes ? 3 : 4"), Value::Number(3.0));
    assert!(fails("1 ? 2 : 3").contains("boolean"));
}

#[test]
fn either_quote_closes_either() {
    assert_eq!(value("'abc\""), Value::from("abc"));
    assert_eq!(value("\"it\\'s\""), Value::from("it's"));
    assert!(fails("'abc").contains("not closed"));
}

#[test]
fn a_string_that_reads_as_a_date_is_a_number() {
    for (text, expected) in [
        ("'2024-01-01'", 1_704_067_200.0),
        ("'2024-01-01 12:30'", 1_704_112_200.0),
        ("'2024-01-01 12:30:15'", 1_704_112_215.0),
        ("'2024-01-01 12:30:15.25'", 1_704_112_215.0),
        ("'2024-01-01 12:30:15+02:00'", 1_704_105_015.0),
        ("'2024-01-01T12:30:15Z'", 1_704_112_215.0),
        ("'2024-01-01T12:30:15.999Z'", 1_704_112_215.0),
        ("'2024-01-01T12:30:15+01:00'", 1_704_108_615.0),
        ("'2024-01-01T12Z'", 1_704_110_400.0),
        ("'2024-01-01T12+0100'", 1_704_106_800.0),
        ("'2024-01-01T12:30-0030'", 1_704_114_000.0),
        ("'2024-01-01T12:30:15+0100'", 1_704_108_615.0),
        ("'Mon Jan  1 12:30:15 2024'", 1_704_112_215.0),
        ("'Mon Jan  1 12:30:15 UTC 2024'", 1_704_112_215.0),
        ("'Mon Jan 01 12:30:15 +0100 2024'", 1_704_108_615.0),
        ("'3:04PM'", -62_167_219_200.0 + 54_240.0),
        ("'12:00AM'", -62_167_219_200.0),
    ] {
        assert_eq!(value(text), Value::Number(expected), "{text}");
    }
    for text in ["'2024-13-01'", "'2023-02-29'", "'2024-1-1'", "'25:00PM'", "'2024-01-01 '", "'True'", "'13:00'"] {
        assert!(matches!(value(text), Value::Text(_)), "{text}");
    }
    assert_eq!(judge("'2024-01-02' > '2024-01-01'"), Ok(true));
    assert_eq!(judge("'2024-01-01' == '2024-01-01T00:00:00Z'"), Ok(true));
}

#[test]
fn dates_stand_only_where_govaluate_allows_them() {
    fails("1 + '2024-01-01' == 1");
    fails("'2024-01-01' ? true : false");
    fails("-'2024-01-01' == 1");
}

#[test]
fn patterns_need_a_string_on_the_left() {
    assert_eq!(judge("role =~ 'w'").unwrap_err(), "'<nil>' cannot be used with =~: it is nil, not a string");
    assert_eq!(judge("[Labels.role] =~ '^work'"), Ok(true));
    assert_eq!(judge("[Labels.role] !~ 'master|infra'"), Ok(true));
    assert_eq!(judge("[Labels.role] =~ [Labels.role]"), Ok(true));
    assert!(Expression::parse("[Labels.role] =~ '('").unwrap_err().contains("pattern"));
    assert!(fails("[Labels.role] =~ 'a' + '('").contains("pattern"));
}

#[test]
fn in_looks_for_an_equal_one_in_a_list_of_two_or_more() {
    assert_eq!(judge("[Labels.role] in ('master', 'worker')"), Ok(true));
    assert_eq!(judge("[Labels.role] IN ('master', 1, true)"), Ok(false));
    assert_eq!(judge("2 in (1, 2, 3)"), Ok(true));
    assert!(fails("[Labels.role] in ('worker')").contains("list"));
    assert!(fails("[Labels.role] in ()").contains("list"));
}

#[test]
fn plus_joins_when_either_is_a_string() {
    assert_eq!(value("'a' + 1"), Value::from("a1"));
    assert_eq!(value("'a' + nothing + 1.5 + yes"), Value::from("a<nil>1.5true"));
    assert_eq!(value("'' + 2 ** 70"), Value::from("1.1805916207174113e+21"));
    assert_eq!(value("'' + 0.00001"), Value::from("1e-05"));
    fails("1 + true == 1");
}

#[test]
fn symbols_reach_to_the_next_blank() {
    for text in ["1 ==-1", "a&&!b", "true ==[Labels.role]", "a === b", "_a == 1", "a = 1", "!!Cordoned", "- -1 == 1"] {
        fails(text);
    }
    assert_eq!(judge("Cordoned==false"), Ok(true));
}

#[test]
fn names_may_be_escaped_or_in_brackets() {
    assert_eq!(judge("Labels\\.role == 'worker'"), Ok(true));
    assert_eq!(judge("[Labels.role] == 'worker'"), Ok(true));
    assert!(fails("Labels.role == 'worker'").contains("need [ ]"));
    assert!(fails("[Labels.role").contains("["));
}

#[test]
fn what_is_no_expression_is_a_mistake() {
    for text in
        ["", "  ", "(", ")", "a)(b", "a ==", "== a", "(true) (false)", "(true) false", "(true ||)", "true, ", "a b"]
    {
        assert!(Expression::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_result_must_be_a_boolean() {
    assert_eq!(fails("1 + 1"), "invalid predicate, not a boolean expression: 1 + 1");
    fails("[Conditions.Ready]");
    fails("nothing");
}

#[test]
fn our_own_variables_are_there() {
    for text in [
        "Age == 3600",
        "[Taints.gpu] == 'NoSchedule'",
        "[Taints.none] == ()",
        "[Annotations.note] == 'keep'",
        "[ConditionAge.Ready] == 60",
        "[ConditionReason.Ready] == 'NodeStatusUnknown'",
        "LeaseAge == 45",
        "Zone == ()",
        "Ready == false",
    ] {
        assert_eq!(judge(text), Ok(true), "{text}");
    }
}

#[test]
fn the_variables_are_listed_in_order() {
    let expression = Expression::parse("Cordoned || [Labels.a] == 'b'").unwrap();
    assert_eq!(expression.variables().collect::<Vec<_>>(), ["Cordoned", "Labels.a"]);
}

#[test]
fn depth_and_length_are_bounded() {
    let deep = format!("{}true{}", "(".repeat(60), ")".repeat(60));
    assert_eq!(judge(&deep), Ok(true));
    assert!(fails(&format!("{}true{}", "(".repeat(65), ")".repeat(65))).contains("brackets"));
    assert!(fails(&"!(".repeat(5000)).contains("more than"));
    assert!(fails(&"a".repeat(20_000)).contains("bytes"));
    assert_eq!(judge(&vec!["true"; 2000].join(" && ")), Ok(true));
}

/// Words of the language in any order: most texts are wrong, and each is answered.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "(",
        ")",
        ",",
        "&&",
        "||",
        "==",
        "!=",
        "<",
        "=~",
        "!~",
        "in",
        "?",
        ":",
        "??",
        "+",
        "-",
        "**",
        "<<",
        ">>",
        "%",
        "!",
        "~",
        "'a'",
        "'2024-01-01'",
        "'('",
        "1",
        "1e9",
        "0x",
        "0xff",
        "1.5",
        "true",
        "Cordoned",
        "[Labels.role]",
        "[",
        "'",
        "\\",
        "é",
        "9999999999999999999999",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        let _ = judge(&text);
    }

    #[test]
    fn no_row_of_words_makes_it_panic(text in words()) {
        let _ = judge(&text);
    }

    #[test]
    fn no_date_makes_it_panic(text in "[0-9JanMoGTUC:+. TZ-]{0,32}") {
        let _ = super::dates::seconds(&text);
    }
}
