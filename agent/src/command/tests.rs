//! The agent's reading of its command line, held against clap's.

use std::{ffi::OsString, net::SocketAddr, os::unix::ffi::OsStringExt};

use proptest::prelude::*;

use super::*;
use crate::config::MetricsAddress;

fn own(words: &[&str]) -> Result<Flags, Instead> {
    read(words.iter().map(OsString::from))
}

fn wrong(words: &[&str]) -> String {
    match own(words) {
        Err(Instead::Wrong(text)) => text,
        other => panic!("{words:?}: {other:?}"),
    }
}

/// The same by clap; the error is whether an answer is printed.
fn by_clap(words: &[&str]) -> Result<Flags, bool> {
    let line = std::iter::once(NAME).chain(words.iter().copied());
    let matches = command().try_get_matches_from(line).map_err(|error| !error.use_stderr())?;
    let mut flags = Flags::default();
    for flag in FLAGS {
        if flag.takes_value() {
            let values = matches.get_raw(flag.name).into_iter().flatten();
            values.for_each(|value| flag.set(&mut flags, value).unwrap());
        } else if matches.get_flag(flag.name) {
            flag.set(&mut flags, "".as_ref()).unwrap();
        }
    }
    Ok(flags)
}

#[test]
fn every_flag_is_set() {
    let flags = own(&[
        "--config=/c",
        "--standalone",
        "--node-name",
        "node-1",
        "--kubeconfig",
        "-",
        "--socket",
        "/s",
        "--state-dir=/d",
        "--metrics-address=127.0.0.1:1",
        "--rules",
        "/r",
        "--rules=/q",
        "--npd-config",
        "/n",
        "--kmsg=--x",
        "--parent",
        "7",
        "--releases-of",
        "/o",
        "--",
    ]);
    let expected = Flags {
        config: Some("/c".into()),
        standalone: true,
        node_name: Some("node-1".to_owned()),
        kubeconfig: Some("-".into()),
        socket: Some("/s".into()),
        state_dir: Some("/d".into()),
        metrics_address: Some(MetricsAddress(Some(SocketAddr::from(([127, 0, 0, 1], 1))))),
        rules: vec!["/r".into(), "/q".into()],
        npd_config: vec!["/n".into()],
        kmsg: Some("--x".into()),
        parent: Some(7),
        releases_of: Some("/o".into()),
    };
    assert_eq!(flags, Ok(expected));
    assert_eq!(own(&[]), Ok(Flags::default()));
}

#[test]
fn an_error_names_the_word_and_what_to_do() {
    for (words, part) in [
        (&["--no-such-flag"][..], "unexpected argument '--no-such-flag' found\n\nUsage: nodewelld [OPTIONS]"),
        (&["--kubconfig=/k"], "found\n\n  tip: a similar argument exists: '--kubeconfig'\n"),
        (&["run"], "unexpected argument 'run' found"),
        (&["-x"], "unexpected argument '-x' found"),
        (&["--", "--standalone"], "unexpected argument '--standalone' found"),
        (&["--config"], "a value is required for '--config <FILE>' but none was supplied"),
        (&["--config", "--standalone"], "a value is required for '--config <FILE>'"),
        (&["--rules="], "a value is required for '--rules <DIR>'"),
        (&["--standalone=yes"], "unexpected value 'yes' for '--standalone' found"),
        (&["--kmsg", "/a", "--kmsg=/b"], "the argument '--kmsg <PATH>' cannot be used multiple times"),
        (&["--node-name", "Node_1"], "invalid value 'Node_1' for '--node-name <NAME>': \"Node_1\" is no Node's name"),
        (&["--metrics-address=on"], "\"on\" is neither \"off\" nor an address and port"),
        (&["--parent", "x"], "invalid value 'x' for '--parent <PID>': invalid digit"),
    ] {
        let text = wrong(words);
        assert!(text.starts_with("error: ") && text.contains(part), "{words:?}: {text}");
        assert!(text.ends_with("\n\nFor more information, try '--help'.\n"), "{text}");
    }
    let bytes = |bytes: &[u8]| read([OsString::from_vec(bytes.to_vec())]);
    assert!(matches!(bytes(b"--node-name=\xff"), Err(Instead::Wrong(text)) if text.contains("no UTF-8")));
    assert!(matches!(bytes(b"--\xff"), Err(Instead::Wrong(_))));
    assert_eq!(bytes(b"--config=\xff").unwrap().config, Some(OsString::from_vec(vec![0xff]).into()));
}

#[test]
fn help_and_version_are_answers() {
    for words in [&["--help"][..], &["-h"], &["--standalone", "-hx"]] {
        assert!(matches!(own(words), Err(Instead::Answer(text)) if text.contains("Examples:")), "{words:?}");
    }
    for words in [&["--version"][..], &["-V"]] {
        assert_eq!(own(words), Err(Instead::Answer(format!("nodewelld {VERSION}\n"))));
    }
}

#[test]
fn man_pages_and_completions_have_every_flag() {
    command().debug_assert();
    let described: Vec<String> = command().get_arguments().map(|flag| flag.get_id().as_str().to_owned()).collect();
    assert_eq!(described, FLAGS.iter().map(|flag| flag.name).collect::<Vec<_>>());
}

const WORDS: [&str; 36] = [
    "--config",
    "--config=a",
    "--config=",
    "--config=--x",
    "--standalone",
    "--standalone=x",
    "--node-name",
    "--node-name=node-1",
    "--node-name=Bad",
    "--node-name=",
    "--metrics-address",
    "--metrics-address=off",
    "--rules",
    "--rules=b",
    "--rules=",
    "--npd-config",
    "--kmsg",
    "--parent",
    "--parent=7",
    "--parent=x",
    "--releases-of",
    "--confg",
    "--=x",
    "node-1",
    "off",
    "7",
    "-7",
    "-",
    "--",
    "",
    "-h",
    "-V",
    "-x",
    "--help",
    "--help=x",
    "--version",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// Words are flags, an answer or an error here where they are so for clap.
    #[test]
    fn it_is_read_as_clap_reads_it(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..6)) {
        let own = own(&words).map_err(|instead| matches!(instead, Instead::Answer(_)));
        prop_assert_eq!(own, by_clap(&words));
    }
}
