use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn named(names: &[&str]) -> NetworkSettings {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    NetworkSettings { names: Some(names), ..NetworkSettings::default() }
}

fn resolver(names: &[&str], lookup: Lookup) -> Resolver {
    Resolver::new("/nowhere".into(), &named(names)).looking_up(lookup, MINUTE, MINUTE)
}

fn failing(_: &str) -> Result<(), LookupError> {
    Err(LookupError::Failed { message: "Temporary failure in name resolution".to_owned() })
}

#[test]
fn nothing_to_ask_is_not_asked() {
    let mut resolver = resolver(&[], failing);
    assert!(!resolver.has_names());
    assert!(matches!(resolver.ask(), Err(ReadError::Gone { .. })));
}

#[test]
fn a_name_that_is_answered_rests_for_a_while() {
    let mut resolver = resolver(&["a.example"], |_| Ok(()));
    let first = resolver.ask().unwrap();
    assert_eq!((first.name.as_str(), first.error.clone(), first.serial), ("a.example", None, 1));
    assert_eq!(resolver.ask().unwrap(), first);
}

#[test]
fn a_name_that_does_not_exist_is_an_answer() {
    let mut resolver = resolver(&["a.example"], |_| Err(LookupError::NoSuchName));
    assert_eq!(resolver.ask().unwrap().error, None);
}

#[test]
fn what_fails_is_asked_each_time() {
    let mut resolver = resolver(&["a.example", "b.example"], failing);
    for serial in 1..=2 {
        let reading = resolver.ask().unwrap();
        assert_eq!((reading.serial, reading.name.as_str()), (serial, "b.example"));
        assert_eq!(reading.error.unwrap(), "Temporary failure in name resolution");
    }
}

#[test]
fn one_of_several_is_enough() {
    let one = |name: &str| if name == "b.example" { Ok(()) } else { failing(name) };
    let reading = resolver(&["a.example", "b.example", "c.example"], one).ask().unwrap();
    assert_eq!((reading.name.as_str(), reading.error), ("b.example", None));
}

#[test]
fn a_resolver_that_hangs_is_asked_by_one_thread_only() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let hanging = |_: &str| {
        ASKED.fetch_add(1, Ordering::SeqCst);
        loop {
            thread::park();
        }
    };
    let mut resolver = Resolver::new("/nowhere".into(), &named(&["a.example"])).looking_up(
        hanging,
        Duration::from_millis(1),
        Duration::ZERO,
    );
    // Nothing is known until the thread has begun.
    let reading = loop {
        match resolver.ask().unwrap() {
            reading if reading.serial == 0 => assert_eq!(reading, NamesReading::default()),
            reading => break reading,
        }
    };
    assert_eq!((reading.name.as_str(), reading.error.as_deref()), ("a.example", Some("no answer within 0 s")));
    assert_eq!(resolver.ask().unwrap().serial, 2);
    while ASKED.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
}

#[test]
fn who_is_slow_is_heard_in_a_later_round() {
    static GATE: Mutex<()> = Mutex::new(());
    let closed = GATE.lock().unwrap();
    let slow = |_: &str| {
        drop(GATE.lock().unwrap());
        Ok(())
    };
    let resolver = Resolver::new("/nowhere".into(), &named(&["a.example"]));
    let mut resolver = resolver.looking_up(slow, Duration::from_millis(1), MINUTE);
    assert_eq!(resolver.ask().unwrap(), NamesReading::default());
    drop(closed);
    resolver.wait = MINUTE;
    let reading = resolver.ask().unwrap();
    assert_eq!((reading.serial, reading.error), (1, None));
}

#[test]
fn an_answer_to_no_request_is_none() {
    let resolver = Resolver::new("/nowhere".into(), &named(&["a.example"]));
    let mut resolver = resolver.looking_up(|_| Ok(()), MINUTE, Duration::ZERO);
    assert_eq!(resolver.ask().unwrap().error.unwrap(), "answered only after 0 s");
}

#[test]
fn a_sandbox_is_no_outage() {
    let root = tempfile::tempdir().unwrap();
    for (folder, devices) in [("self/net", "  lo: 0\n"), ("1/net", "  lo: 0\neth0: 7\n")] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
        fs::write(root.path().join(folder).join("dev"), format!("Inter-| Receive\n face |bytes\n{devices}")).unwrap();
    }
    let mut resolver = Resolver::new(root.path().into(), &named(&["a.example"])).looking_up(failing, MINUTE, MINUTE);
    assert!(matches!(resolver.ask(), Err(ReadError::Unsupported { .. })));
    fs::write(root.path().join("self/net/dev"), "  lo: 0\neth0: 9\n").unwrap();
    assert!(resolver.ask().unwrap().error.is_some());
}

#[test]
fn the_api_servers_name_is_found_where_it_has_one() {
    let cases = [
        ("clusters:\n- cluster:\n    server: https://api.example.net:6443\n", Some("api.example.net")),
        (
            "    server: \"https://ABCD.gr7.eu-west-1.eks.amazonaws.com\"\n",
            Some("ABCD.gr7.eu-west-1.eks.amazonaws.com"),
        ),
        (
            r#"{"clusters": [{"cluster": {"tls-server-name": "x", "server":"https://api.example:443/k8s"}}]}"#,
            Some("api.example"),
        ),
        ("    server: https://10.0.0.1:6443\n", None),
        ("    server: https://[fd00::1]:6443\n", None),
        ("    server: https://localhost:6443\n", None),
        ("    server: https://127.0.0.1:6444\n", None),
        ("server", None),
        ("", None),
    ];
    for (text, name) in cases {
        assert_eq!(server_name(text).as_deref(), name, "{text:?}");
    }
}

#[test]
fn a_kubeconfig_that_comes_later_is_found() {
    let root = tempfile::tempdir().unwrap();
    let kubeconfigs = vec![root.path().join("none"), root.path().join("kubelet.conf")];
    let settings = NetworkSettings { kubeconfigs, ..NetworkSettings::default() };
    let asking = || Resolver::new("/nowhere".into(), &settings).looking_up(|_| Ok(()), MINUTE, MINUTE);
    assert!(matches!(asking().ask(), Err(ReadError::Gone { .. })));
    fs::write(root.path().join("kubelet.conf"), "    server: https://api.example:6443\n").unwrap();
    assert_eq!(asking().ask().unwrap().name, "api.example");
}

proptest! {
    #[test]
    fn no_kubeconfig_is_too_bad(text in "(?s).{0,40}(server: ?\"?https?://.{0,300})?") {
        if let Some(name) = server_name(&text) {
            prop_assert!(!name.is_empty() && name.len() <= 253);
        }
    }
}
