//! Objects and their texts, those of the shipped rules' examples among them.

use proptest::prelude::*;
use regex::Regex;

use super::*;
use crate::{LoadPlan, load};

/// What every text has that is made of an object of [`klog`], behind its first letter.
const HEADER: &str = "1114 22:13:20.000000       0 b.go:7] ";

/// An object of klog, of its message and what follows that.
fn klog(rest: &str) -> String {
    format!(r#"{{"ts":1700000000000,"caller":"a/b.go:7","msg":{rest}}}"#)
}

/// An object of logrus, of what is before its level, and of its message.
fn logrus(before: &str, message: &str) -> String {
    format!(r#"{{{before}"level":"error","msg":{message},"time":"2026-11-21T02:31:05.123Z"}}"#)
}

fn text(message: &str) -> Option<String> {
    text_of(message.as_bytes()).map(|text| String::from_utf8(text).unwrap())
}

/// As kubelets write it, with a fraction of a millisecond.
#[test]
fn an_object_of_klog_is_the_text_that_klog_writes() {
    let object = r#"{"ts":1700000000123.4567,"caller":"kubelet/kubelet.go:1431","msg":"Failed","err":"why"}"#;
    let expected = r#"E1114 22:13:20.123456       0 kubelet.go:1431] "Failed" err="why""#;
    assert_eq!(text(object).as_deref(), Some(expected));
    let object = r#"{"ts":0.000123,"logger":"UnhandledError","caller":"test.go:35","msg":"test","v":0,"podnum":2}"#;
    let expected = r#"I0101 00:00:00.000000       0 test.go:35] "test" logger="UnhandledError" podnum=2"#;
    assert_eq!(text(object).as_deref(), Some(expected));
}

/// After json_test.go of kubernetes/component-base and keyvalues_test.go of kubernetes/klog.
#[test]
fn values_of_klog_are_as_klog_writes_them() {
    for (rest, expected) in [
        // An error comes first; where there is none its key is one like others.
        (
            r#""wrong","ns":"default","podnum":2,"time":"1µs","err":"invalid""#,
            r#"E"wrong" err="invalid" ns="default" podnum=2 time="1µs""#,
        ),
        (r#""Not yet","v":4,"ns":"default","err":"later""#, r#"I"Not yet" ns="default" err="later""#),
        (r#""x","err":"Get \"https://[::1]\": EOF""#, r#"E"x" err="Get \"https://[::1]\": EOF""#),
        (
            r#""x","v":0,"pod":{"name":"coredns-1","namespace":"kube-system"},"node":{"name":"worker-1"}"#,
            r#"I"x" pod="kube-system/coredns-1" node="worker-1""#,
        ),
        (
            r#""x","yes":true,"none":null,"half":-0.5,"pair":["a","b"],"at":{"name":"a","uid":{"b":"c d"}}"#,
            r#"E"x" yes=true none=null half=-0.5 pair=["a","b"] at={"name":"a","uid":{"b":"c d"}}"#,
        ),
        // A value may be called as a part of the header is: the first is the header's.
        (r#""x","v":0,"msg":"y","ts":1,"v":2"#, r#"I"x" msg="y" ts=1 v=2"#),
    ] {
        let (letter, values) = expected.split_at(1);
        assert_eq!(text(&klog(rest)), Some(format!("{letter}{HEADER}{values}")), "{rest}");
    }
}

#[test]
fn an_object_of_logrus_is_the_text_that_logrus_writes() {
    for (before, message, expected) in [
        (r#""error":"exit status 1","#, r#""get state""#, r#"msg="get state" error="exit status 1""#),
        ("", r#""starting""#, "msg=starting"),
        (
            r#""count":3,"id":"io.containerd.grpc.v1.cri","is":true,"labels":{"a":"b"},"#,
            r#""x y""#,
            r#"msg="x y" count=3 id=io.containerd.grpc.v1.cri is=true labels="{\"a\":\"b\"}""#,
        ),
        ("", r#""open \"\u003cdb\u003e\"\n""#, r#"msg="open \"<db>\"\n""#),
    ] {
        let expected = format!(r#"time="2026-11-21T02:31:05.123Z" level=error {expected}"#);
        assert_eq!(text(&logrus(before, message)), Some(expected));
    }
}

/// A line break in a value would be the end of the line, and a quote the end of the value.
#[test]
fn what_ends_a_value_or_a_line_is_escaped() {
    for (rest, expected) in [
        (r#""a\nb\tc\\d\u0001\u001b\u00e9\u200b""#, "\"a\\nb\\tc\\\\d\\x01\\x1bé\u{200b}\""),
        ("\"\u{7f}\"", r#""\x7f""#),
        (r#""x","a b=\"":"c""#, r#""x" "a b=\""="c""#),
        ("\"x\",\"list\":[1,\n2]", r#""x" list="[1,\n2]""#),
        // Half a character.
        (r#""x","half":"\ud800""#, r#""x" half="\ud800""#),
    ] {
        assert_eq!(text(&klog(rest)), Some(format!("E{HEADER}{expected}")));
    }
}

#[test]
fn anything_else_stands_for_itself() {
    for message in [
        "",
        "{",
        "{\"",
        "Failed to start",
        r#"I1114 22:13:20.000000       0 b.go:7] "x""#,
        r#"{"a":1,"msg":"x"}"#,
        // Cut off, or with more behind it.
        r#"{"ts":1700000000000,"caller":"a/b.go:7","msg":"x""#,
        r#"{"ts":1700000000000,"caller":"a/b.go:7","msg":"x"} y"#,
        // Parts of the header that are missing, or of another form.
        r#"{"caller":"a/b.go:7","ts":1700000000000,"msg":"x"}"#,
        r#"{"ts":"1700000000000","caller":"a/b.go:7","msg":"x"}"#,
        r#"{"ts":-1,"caller":"a/b.go:7","msg":"x"}"#,
        r#"{"ts":1e300,"caller":"a/b.go:7","msg":"x"}"#,
        r#"{"ts":99999999999999999999,"caller":"a/b.go:7","msg":"x"}"#,
        r#"{"ts":999999999999999,"caller":"a/b.go:7","msg":"x"}"#,
        r#"{"ts":1700000000000,"caller":"a/b.go","msg":"x"}"#,
        r#"{"ts":1700000000000,"caller":"a/b.go:","msg":"x"}"#,
        r#"{"ts":1700000000000,"caller":"b.go:1] b.go:7","msg":"x"}"#,
        r#"{"ts":1700000000000,"caller":7,"msg":"x"}"#,
        r#"{"ts":1700000000000,"msg":"x"}"#,
        // Of etcd, and of others that log by zap or slog.
        r#"{"level":"warn","ts":"2022-07-10T06:10:55.088+0200","caller":"wal/wal.go:808","msg":"x"}"#,
        r#"{"level":"error","ts":1700000000.123,"caller":"a/b.go:7","msg":"x"}"#,
        r#"{"time":"2026-11-21T02:31:05Z","level":"ERROR","msg":"x"}"#,
        r#"{"time":"2026-11-21T02:31:05Z\" level=error","level":"error","msg":"x"}"#,
        r#"{"level":"error","msg":"x","time":1700000000}"#,
        r#"{"level":"error","msg":"x"}"#,
        r#"{"level":"error","msg":["x"],"msg":"x","time":"2026-11-21T02:31:05Z"}"#,
    ] {
        assert_eq!(text(message), None, "{message}");
    }
    let bytes = b"{\"ts\":1700000000000,\"caller\":\"a/b.go:7\",\"msg\":\"caf\xe9\"}";
    assert_eq!(text_of(bytes), None, "what is no UTF-8");
}

#[test]
fn no_object_is_too_deep_and_no_text_too_long() {
    for (open, close) in [("[", "]"), (r#"{"name":"#, "}")] {
        let depth = 60_000 / (open.len() + close.len());
        let deep = open.repeat(depth) + "1" + &close.repeat(depth);
        let expected = format!(r#"E{HEADER}"x" a={deep}"#);
        assert!(text(&klog(&format!(r#""x","a":{deep}"#))) == Some(expected), "{open}");
    }
    let long = "x".repeat(LIMIT_BYTES);
    assert_eq!(text(&klog(&format!("\"{long}\""))), None);
    // Each quote is two bytes in the text.
    let quotes = "\"\",".repeat(20_000);
    let cut = text(&logrus(&format!(r#""a":[{quotes}1],"#), "\"x\"")).unwrap();
    assert_eq!(cut.len(), LIMIT_BYTES);
    let many: String = (0..5_000).map(|n| format!(r#","k{n}":{n}"#)).collect();
    assert!(text(&klog(&format!("\"x\"{many}"))).unwrap().ends_with(" k4999=4999"));
}

/// The forms of a text: klog's and its values, logrus's and its values.
struct Forms {
    klog: Regex,
    klog_value: Regex,
    logrus: Regex,
    logrus_value: Regex,
}

impl Forms {
    fn new() -> Self {
        let (quoted, clock) = (r#""(?:[^"\\]|\\.)*""#, r"\d\d:\d\d:\d\d\.\d{6}");
        let regex = |form: String| Regex::new(&form).unwrap();
        let header = format!(r"^([IE])(\d\d)(\d\d) ({clock}) +\d+ ([\w.-]+:\d+)\]");
        Self {
            klog: regex(format!(r"{header} ({quoted})((?: \w+=(?:{quoted}|\d+))*)$")),
            klog_value: regex(format!(r" (\w+)=({quoted}|\d+)")),
            logrus: regex(format!(
                r#"^time="([^"\\]*)" level=(\w+) msg=({quoted})((?: [\w.-]+=(?:{quoted}|[\w./-]+))*)$"#
            )),
            logrus_value: regex(format!(r" ([\w.-]+)=({quoted}|[\w./-]+)")),
        }
    }

    /// What klog writes as JSON instead of `example`, and the text of that: the process is not in it.
    fn of_klog(&self, example: &str) -> Option<(String, String)> {
        let (_, [letter, month, day, clock, caller, message, values]) = self.klog.captures(example)?.extract();
        let time: Timestamp = format!("2024-{month}-{day}T{clock}Z").parse().unwrap();
        let ts = format!("{}.{:03}", time.as_millisecond(), time.as_microsecond() % 1000);
        let verbosity = if letter == "I" { r#","v":0"# } else { "" };
        let pairs = self.klog_value.captures_iter(values).map(|pair| pair.extract().1);
        let is_error = |[key, _]: &[&str; 2]| letter == "E" && *key == "err";
        let (errors, others): (Vec<[&str; 2]>, Vec<[&str; 2]>) = pairs.partition(is_error);
        let pairs: String = others.iter().chain(&errors).map(|[key, value]| format!(r#","{key}":{value}"#)).collect();
        let object = format!(r#"{{"ts":{ts},"caller":"a/{caller}","msg":{message}{verbosity}{pairs}}}"#);
        Some((object, format!("{letter}{month}{day} {clock}       0 {caller}] {message}{values}")))
    }

    fn of_logrus(&self, example: &str) -> Option<(String, String)> {
        let (_, [time, level, message, values]) = self.logrus.captures(example)?.extract();
        let quoted = |value: &str| if value.starts_with('"') { value.to_owned() } else { format!("\"{value}\"") };
        let pairs = self.logrus_value.captures_iter(values).map(|pair| pair.extract().1);
        let pairs: String = pairs.map(|[key, value]: [&str; 2]| format!(r#""{key}":{},"#, quoted(value))).collect();
        let object = format!(r#"{{{pairs}"level":"{level}","msg":{message},"time":"{time}"}}"#);
        Some((object, example.to_owned()))
    }
}

/// So each rule that finds a text finds its object, too. Texts whose message is not quoted are left out.
#[test]
fn texts_in_the_examples_of_the_shipped_rules_come_back_from_their_objects() {
    let (forms, set) = (Forms::new(), load(&LoadPlan::default()).set);
    let examples = set.rules.iter().map(|rule| &rule.examples);
    let all = examples.flat_map(|examples| examples.matches.iter().chain(&examples.ignores).chain(&examples.recovers));
    let (mut klog, mut logrus) = (0, 0);
    for example in all {
        let (of_klog, of_logrus) = (forms.of_klog(&example.text), forms.of_logrus(&example.text));
        klog += usize::from(of_klog.is_some());
        logrus += usize::from(of_logrus.is_some());
        for (object, expected) in of_klog.into_iter().chain(of_logrus) {
            assert_eq!(text(&object), Some(expected), "{object}");
        }
    }
    assert!(klog > 60 && logrus > 50, "{klog} of klog, {logrus} of logrus");
}

/// What an object is made of, and what breaks one.
const PIECES: [&str; 14] =
    ["{", "}", "[", "]", "\"", ":", ",", "\\", "\n", "\\n", "\"err\":", "\"v\":0", "{\"name\":\"a\"}", "1"];

proptest! {
    /// Whatever a value is, the text is one line and its header is the program's.
    #[test]
    fn a_text_is_one_line(
        (message, key, value) in ("(?s).{0,20}", "(?s)k.{0,20}", "(?s).{0,20}"),
        is_error in any::<bool>(),
    ) {
        let [message, key, value] = [message, key, value].map(|text| serde_json::to_string(&text).unwrap());
        let verbosity = if is_error { "" } else { r#","v":0"# };
        let text = text(&klog(&format!("{message}{verbosity},{key}:{value}"))).unwrap();
        let letter = if is_error { 'E' } else { 'I' };
        let begin = format!("{letter}{HEADER}\"");
        prop_assert!(text.starts_with(&begin) && !text.contains('\n'), "{}", text);
        prop_assert_eq!(text_of(text.as_bytes()), None);
    }

    #[test]
    fn no_bytes_make_it_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..12),
        bytes in prop::collection::vec(any::<u8>(), 0..4),
        begin in prop::sample::select(vec![
            r#"{"ts":1,"caller":"b.go:7","msg":""#,
            r#"{"ts":1,"caller":"b.go:7","msg":"x","a":"#,
            r#"{"level":"info","msg":"x","time":"1","a":"#,
        ]),
    ) {
        let message = [begin.as_bytes(), pieces.concat().as_bytes(), &bytes].concat();
        let text = text_of(&message);
        prop_assert!(text.is_none_or(|text| !text.is_empty() && !text.contains(&b'\n')));
    }
}
