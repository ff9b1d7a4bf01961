//! Types: what is refused before any node is judged, in which words, and that the interpreter agrees.

use std::collections::BTreeSet;

use super::*;

fn refused(source: &str) -> String {
    match Expression::compile(source) {
        Ok(_) => panic!("{source} was taken"),
        Err(error) => error,
    }
}

/// The interpreter takes the keys of a map in another order each time: of these, the same node would answer another way.
#[test]
fn what_depends_on_the_order_of_a_maps_keys_is_refused() {
    for source in [
        "node.labels.map(k, k)[0] == 'gpu'",
        "node.labels.filter(k, k != 'x')[0] == 'gpu'",
        "node.labels.map(k, k) == ['gpu', 'tpu']",
        "node.labels.map(k, k).map(k, k + 'x')[1] == 'gpux'",
        "(node.ready ? ['a'] : node.labels.map(k, k))[0] == 'a'",
        "conditions.map(c, c)[0] == 'Ready'",
        "(node.ready ? node.labels.map(k, k) : 1)[0] == 'a'",
        "dyn(node.labels.map(k, k))[0] == 'a'",
        "{'a': node.labels.map(k, k)}.a[0] == 'a'",
    ] {
        assert!(refused(source).contains("a list without an order"), "{source}: {}", refused(source));
    }
    for source in [
        "size(node.labels.filter(k, k.startsWith('g'))) > 0",
        "node.labels.map(k, k).exists(k, k == 'gpu')",
        "'gpu' in node.labels.map(k, k)",
        "node.taints.map(t, t.key)[0] == 'k'",
        "[3, 1].map(n, n + 1) == [4, 2]",
    ] {
        assert_eq!(judge(source), Ok(true), "{source}");
    }
}

#[test]
fn what_fits_no_node_is_refused_in_words_that_mend_it() {
    for (source, expected) in [
        ("2 + 2", "`2 + 2` is an int, not true or false"),
        ("node.name", "`node.name` is a string, not true or false"),
        ("conditions.?Ready.?status", "is an optional; end it with .orValue(…)"),
        ("node.age > '5m'", "`node.age > '5m'` compares an int with a string; write duration('5m')"),
        ("'5m' < conditions.Ready.age", "write duration('5m')"),
        ("node.age > 'old'", "write a number instead of 'old'"),
        ("node.name > 5", "compares a string with an int"),
        ("node.ready == 'True'", "a bool is compared with nothing"),
        ("conditions.Ready.status == true", "it is 'True', 'False', 'Unknown', in quotes"),
        ("conditions.Ready.status == 'true'", "is never 'true'; it is 'True', 'False', 'Unknown'"),
        ("conditions.?Ready.?status.orValue('') == 'true'", "is never 'true'"),
        ("conditions.Ready.status in ['False', 'unknown']", "is never 'unknown'"),
        ("node.taints.exists(t, t.effect == 'NoSchedul')", "is never 'NoSchedul'"),
        ("conditions.Ready == 'True'", "compare one of its fields: status, reason, message, age"),
        ("conditions.?Ready.?status == 'True'", "write .orValue(…) after it"),
        ("conditions.Redy.status == 'True'", "is `Ready` meant?"),
        ("has(conditions.Redy)", "is `Ready` meant?"),
        ("conditions.?Raedy.?status.orValue('') == 'True'", "is `Ready` meant?"),
        ("conditions.ready.status == 'True'", "conditions['ready']"),
        ("node.redy", "`node` has no `redy`; is `ready` meant? It has name"),
        ("conditions.Ready.stauts == 'True'", "is `status` meant?"),
        ("node.taints.exists(t, t.efect == 'NoSchedule')", "is `effect` meant?"),
        ("node.name.first == 'a'", "`node.name` is a string and has no fields, so no `first`"),
        ("node.labels.contains('gpu')", "write `'…' in node.labels`"),
        ("'n' in node.name", "write node.name.contains('n')"),
        ("node.age.startsWith('5')", "`node.age` is an int"),
        ("node.name.startsWith(5)", "startsWith(…) takes a string; `5` is an int"),
        ("node.name && node.ready", "`node.name` is a string; `&&` and `||` take"),
        ("!node.name", "`node.name` is a string; `!` takes"),
        ("-node.name == 5", "`-` takes a number"),
        ("node.name + 5 == 'n15'", "adds an int to a string"),
        ("node.age - '5m' > 0", "write duration('5m')"),
        ("node.name.all(l, l == 'x')", "only a list or a map has items"),
        ("node.taints.all(t, t.key)", "`t.key` is a string"),
        ("node.taints.map(t, t.key) == 'k'", "compares a list with a string"),
        ("node.taints[0].key == 5", "compares a string with an int"),
        ("node.taints['k'].key == 'k'", "has no key that is a string"),
        ("node.labels[5] == 'a'", "has no key that is an int"),
        ("size(node.age) > 5", "size(…) does not take `node.age`, which is an int"),
        ("duration(5) > 0", "duration(…) does not take `5`"),
        ("5 in events.Rebooted.reporters", "looks for an int where there is a string"),
        ("node.zone.orValue('') == 'a'", "not an optional; what may be missing is asked for with `.?`"),
        ("(node.ready ? 1 : 2) == 'a'", "compares an int with a string"),
        ("lease.age > lease.present", "compares an int with a bool"),
    ] {
        let error = refused(source);
        assert!(error.contains(expected), "{source}: {error}");
    }
}

#[test]
fn what_is_known_only_of_a_node_is_taken() {
    for source in [
        "conditions['Redy'].status == 'True'",
        "conditions.OurOwnThing.status == 'True'",
        "conditions.exists(c, conditions[c].status == 'True' && conditions[c].age > 60)",
        "conditions.exists(c, conditions[c]['a' + 'ge'] > 5)",
        "node.labels.gpu == 'a100' && node.labels['a/b'] != 'c'",
        "int(node.labels.rack) > 5 && double(node.labels.x) < 2",
        "conditions.?Ready.?status.orValue('none') == 'none'",
        "conditions.?Ready.hasValue() && conditions[?'Ready'].hasValue()",
        "conditions.?Ready.?status.or(conditions.?Other.?status).orValue('') == 'True'",
        "node.taints.filter(t, t.effect == 'NoExecute').size() > 0",
        "node.taints.map(t, t.key).exists(k, k.startsWith('a'))",
        "node.taints.exists_one(t, t.key == 'k')",
        "(node.controlPlane ? duration('1h') : duration('5m')) < node.age",
        "dyn(node.age) == dyn(node.name) || node.annotations == {}",
        "node.age > 1.5 && node.age > 2u && node.name != null",
        "['a', 5].exists(x, x == 'a')",
        "conditions == {} || type(node.age) == int",
    ] {
        Expression::compile(source).map(drop).unwrap_or_else(|error| panic!("{source}: {error}"));
    }
}

/// What the types of values are called by the interpreter is what they are declared as.
#[test]
fn every_field_is_what_it_is_declared_as() {
    let objects = [
        ("node", declared::Object::Node),
        ("conditions.GpuUnhealthy", declared::Object::Condition),
        ("lease", declared::Object::Lease),
        ("events.Rebooted", declared::Object::Event),
        ("node.taints[0]", declared::Object::Taint),
    ];
    for (path, object) in objects {
        for field in object.fields() {
            let kind = match object.field(field).unwrap() {
                types::Type::Bool => "bool",
                types::Type::Int => "int",
                types::Type::String | types::Type::Choice(_) => "string",
                types::Type::List(_) => "list",
                types::Type::Map(..) => "map",
                other => panic!("{path}.{field} is {other}"),
            };
            assert_eq!(judge(&format!("type({path}.{field}) == {kind}")), Ok(true), "{path}.{field}");
        }
    }
}

/// One value of each type that an expression can make.
const VALUES: [&str; 9] =
    ["true", "7", "7u", "7.0", "'seven'", "b'seven'", "[7]", "node.labels", "conditions.GpuUnhealthy"];

/// Judged without the types being looked at.
fn unchecked(source: &str) -> Result<bool, String> {
    let (node, snapshot) = facts();
    let program = ENVIRONMENT.compile(source).map_err(|_| "no expression".to_owned())?;
    let uses = check::check(program.expression())?;
    let source: Arc<str> = source.into();
    Expression { source, program: Arc::new(program), uses: Arc::new(uses) }.judge(&node, &snapshot, testing::now(1000))
}

/// What is refused would be an error of every node, and what is taken is none: by each operator with each two types.
/// Equality is left out: two types are unequal to the interpreter, and a mistake in a policy.
#[test]
fn the_interpreter_agrees_about_every_operator() {
    let mut taken = BTreeSet::new();
    for (operator, result) in [
        ("<", ""),
        (">=", ""),
        ("+", " == dyn(0)"),
        ("-", " == dyn(0)"),
        ("*", " == dyn(0)"),
        ("/", " == dyn(0)"),
        ("%", " == dyn(0)"),
        ("&&", ""),
    ] {
        for one in VALUES {
            for other in VALUES {
                let source = format!("({one} {operator} {other}){result}");
                let (typed, judged) = (Expression::compile(&source).map(drop), unchecked(&source));
                // The interpreter puts whatever it is at the end of a list.
                let appends = operator == "+" && one == "[7]";
                assert!(typed.is_ok() == judged.is_ok() || appends, "{source}: {typed:?}, {judged:?}");
                if typed.is_ok() {
                    taken.insert(source);
                }
            }
        }
    }
    assert!(taken.len() > 20, "{taken:?}");
}

#[test]
fn the_interpreter_agrees_about_every_function() {
    let functions = ["size", "int", "uint", "double", "bool", "string", "bytes", "duration"];
    for function in functions {
        for value in VALUES.into_iter().chain(["'7'", "'true'", "'7s'"]) {
            let source = format!("{function}({value}) == dyn(0)");
            let (typed, judged) = (Expression::compile(&source).map(drop), unchecked(&source));
            // A text that is no number is an error of its value, not of its type.
            let is_of_value = value.starts_with('\'') && judged.is_err();
            assert!(typed.is_ok() == judged.is_ok() || is_of_value, "{source}: {typed:?}, {judged:?}");
        }
    }
}

#[test]
fn members_of_strings_and_optionals_are_those_of_the_interpreter() {
    for function in ["contains", "startsWith", "endsWith"] {
        for value in VALUES {
            let source = format!("{value}.{function}('s')");
            assert_eq!(Expression::compile(&source).is_ok(), unchecked(&source).is_ok(), "{source}");
        }
    }
    for value in VALUES {
        let source = format!("{value}.orValue(true) == true");
        assert!(Expression::compile(&source).is_err() && unchecked(&source).is_err(), "{source}");
    }
}
