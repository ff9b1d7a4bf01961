//! What the agent reads by itself, and what it has read for it.

use std::fs;

use super::*;

/// Reads `text`; what is no JSON by a program of these lines, which is called with the path.
fn read(text: &str, program: &str) -> Result<Kubeconfig, String> {
    let folder = tempfile::tempdir().unwrap();
    let (path, reader) = (folder.path().join("kubelet.conf"), folder.path().join("nodewell"));
    fs::write(&path, text).unwrap();
    nodewell_kit::write_program(&reader, 0o700, &format!("#!/bin/sh\n{program}\n"));
    Kubeconfig::read(&path, &YamlReader(reader)).map_err(|error| error.to_string())
}

#[test]
fn json_is_read_here_and_its_paths_are_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    fs::write(&path, r#"{"users": [{"name": "u", "user": {"client-key": "u.key", "tokenFile": "/abs/token"}}]}"#)
        .unwrap();
    let none = YamlReader("/nonexistent/nodewell".into());
    let named = Kubeconfig::read(&path, &none).unwrap().named_files();
    assert_eq!(named, [folder.path().join("u.key"), "/abs/token".into()]);
}

#[test]
fn null_is_an_empty_list_and_what_is_not_used_is_passed_over() {
    let text =
        r#"{"apiVersion": "v1", "kind": "Config", "preferences": {}, "clusters": null, "users": [], "extensions": 1}"#;
    assert_eq!(read(text, "exit 1").unwrap(), Kubeconfig::default());
}

#[test]
fn what_is_no_json_is_read_by_the_program() {
    let program = r#"[ "$1" = kubeconfig ] && grep -q '^current-context: c$' && echo '{"current-context": "c"}'"#;
    assert_eq!(read("current-context: c\n", program).unwrap().current_context.as_deref(), Some("c"));
    // Text in quotes is JSON, and no kubeconfig, up to the colon.
    let program = r#"grep -q '"current-context"' && echo '{"current-context": "d"}'"#;
    assert_eq!(read("\"current-context\": \"d\"\n", program).unwrap().current_context.as_deref(), Some("d"));
    let large = format!("# {}\ncurrent-context: c\n", "x".repeat(1 << 19));
    assert!(read(&large, r#"cat >/dev/null; echo '{}'"#).is_ok(), "more than a pipe holds");
}

#[test]
fn an_error_says_what_the_program_said_or_how_it_ended() {
    let error =
        read("no: [yaml", "cat >/dev/null; echo >&2; echo 'nodewell: line 1: no end' >&2; exit 65").unwrap_err();
    assert_eq!(error, "line 1: no end");
    for (program, why) in [
        ("cat >/dev/null; kill -9 $$", "signal: 9"),
        ("cat >/dev/null; echo nonsense", "expected"),
        ("cat >/dev/null; echo 'nodewell: out of memory' >&2; exit 70", ": out of memory"),
        ("exit 3", "exit status: 3"),
    ] {
        let error = read("a: b", program).unwrap_err();
        assert!(error.starts_with("the program that reads YAML, ") && error.contains(why), "{program}: {error}");
    }
}

#[test]
fn without_the_program_the_error_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubelet.conf");
    let reader = YamlReader("/nonexistent/nodewell".into());
    assert!(matches!(Kubeconfig::read(&path, &reader), Err(KubeconfigError::File(_))));
    fs::write(&path, "a: b").unwrap();
    let error = Kubeconfig::read(&path, &reader).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/nodewell, did not do it: No such file"), "{error}");
}

/// What the other reader makes of YAML is what this one takes.
#[test]
fn yaml_becomes_json_with_secrets() {
    let text = "
clusters: [{ name: c, cluster: { server: 'https://h', certificate-authority: ca.crt, tls-server-name: k8s } }]
users:
- name: u
  user: { token: secret, exec: { apiVersion: client.authentication.k8s.io/v1, command: ./plugin }, as: someone }
contexts: [{ name: c, context: { cluster: c, user: u } }]
current-context: c
";
    let read: Kubeconfig = serde_json::from_str(&as_json(text.as_bytes()).unwrap()).unwrap();
    assert_eq!(read, Kubeconfig::parse_here(text.as_bytes()).unwrap());
    let user = read.users[0].user.as_ref().unwrap();
    assert_eq!((user.token.as_deref(), user.impersonated.as_deref()), (Some("secret"), Some("someone")));
    assert!(user.exec.is_some());
    assert_eq!(read.named_files(), [PathBuf::from("ca.crt")]);
    assert!(matches!(as_json(b"no: [yaml"), Err(KubeconfigError::Content(_))));
}

/// As of several files with kubectl.
#[test]
fn of_several_documents_the_first_to_use_a_name_has_it() {
    let text = "
current-context: one
clusters: [{ name: c, cluster: { server: 'https://first' } }]
---
current-context: two
clusters: [{ name: c, cluster: { server: 'https://second' } }, { name: d, cluster: { server: 'https://other' } }]
users: [{ name: u, user: { token: secret } }]
contexts: [{ name: one, context: { cluster: c, user: u } }]
";
    let read = Kubeconfig::parse_here(text.as_bytes()).unwrap();
    assert_eq!(read.current_context.as_deref(), Some("one"));
    let servers = read.clusters.iter().filter_map(|named| named.cluster.as_ref()?.server.as_deref());
    assert_eq!(servers.collect::<Vec<_>>(), ["https://first", "https://other"]);
    assert_eq!((read.users.len(), read.contexts.len()), (1, 1));
}

/// The parser shows the lines around a mistake.
#[test]
fn an_error_in_yaml_shows_no_secret() {
    let text = b"users:\n- name: u\n  user:\n    token: s3cr3t\n    client-key-data: [\n";
    let error = Kubeconfig::parse_here(text).unwrap_err().to_string();
    assert!(error.starts_with("it is no kubeconfig: "), "{error}");
    assert!(!error.contains("s3cr3t") && !error.contains('\n'), "{error}");
}

/// One of the files that it names may change while the disk with the program is dead.
#[test]
fn the_same_yaml_is_read_by_the_program_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, program) = (folder.path().join("kubelet.conf"), folder.path().join("nodewell"));
    let reader = YamlReader(program.clone());
    let answer =
        |answer: &str| nodewell_kit::write_program(&program, 0o700, &format!("#!/bin/sh\ncat >/dev/null\n{answer}\n"));
    let context = || Kubeconfig::read(&path, &reader).map(|read| read.current_context);
    fs::write(&path, "current-context: c").unwrap();
    answer("exit 70");
    assert!(context().is_err(), "what went wrong here is tried again");
    answer("echo '{\"current-context\": \"c\"}'");
    assert_eq!(context().unwrap().as_deref(), Some("c"));
    fs::remove_file(&program).unwrap();
    assert_eq!(context().unwrap().as_deref(), Some("c"));
    fs::write(&path, "current-context: d").unwrap();
    assert!(context().is_err());
    answer("echo 'nodewell: line 1' >&2; exit 65");
    assert_eq!(context().unwrap_err().to_string(), "line 1");
    fs::remove_file(&program).unwrap();
    assert_eq!(context().unwrap_err().to_string(), "line 1", "and so is a mistake in it");
}

#[test]
fn what_is_too_large_or_in_another_encoding_is_named_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubelet.conf");
    let text = "current-context: c\n";
    for (mark, order) in [
        (0xfeff_u16.to_le_bytes(), u16::to_le_bytes as fn(u16) -> [u8; 2]),
        (0xfeff_u16.to_be_bytes(), u16::to_be_bytes),
    ] {
        let wide: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(order)).collect();
        fs::write(&path, &wide).unwrap();
        assert_eq!(Kubeconfig::read_here(&path).unwrap().current_context.as_deref(), Some("c"));
        assert!(as_json(&wide).unwrap().contains("\"current-context\":\"c\""));
    }
    assert!(matches!(as_json(b"\xc3\x28"), Err(KubeconfigError::Content(_))));
    fs::write(&path, "#".repeat(1 << 20) + "\n").unwrap();
    assert_eq!(Kubeconfig::read_here(&path).unwrap_err().to_string(), "it has more than 1024 KiB");
}
