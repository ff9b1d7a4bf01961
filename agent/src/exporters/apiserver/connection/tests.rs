//! Which files are watched, and when a new client replaces the old one.

use std::fs;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::*;
use crate::identity::{Kubeconfig, YamlReader};

#[test]
fn the_files_that_a_kubeconfig_names_are_looked_at_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"{"apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://h", "certificate-authority": "ca.crt"}}],
        "users": [{"name": "u", "user": {"client-certificate": "u.crt", "client-key": "/abs/u.key"}},
                  {"name": "t", "user": {"tokenFile": "/abs/token"}}]}"#;
    let path = folder.path().join("kubeconfig");
    fs::write(&path, text).unwrap();
    let mut named = Kubeconfig::read(&path, &YamlReader::beside_us()).unwrap().named_files();
    named.sort();
    let here = |name: &str| folder.path().join(name);
    let mut expected = vec![here("ca.crt"), here("u.crt"), "/abs/u.key".into(), "/abs/token".into()];
    expected.sort();
    assert_eq!(named, expected);
}

#[test]
fn a_file_that_appears_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("u.crt");
    let before = stamps([path.clone()]);
    fs::write(&path, "x").unwrap();
    assert_ne!(before, stamps([path]));
}

/// A certificate that signs nothing.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\n\
    MIIBeDCCAR2gAwIBAgIUQ+wjWl36LhRDbhlahZyJcIDFqGUwCgYIKoZIzj0EAwIw\n\
    EDEOMAwGA1UEAwwFdGVzdHMwIBcNMjYxMTIxMDU1NDE2WhgPMjEyNjEwMjgwNTU0\n\
    MTZaMBAxDjAMBgNVBAMMBXRlc3RzMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n\
    WsjySms0CkjPdd/H1JNcMQC+LMZaWXzroY4gHrECHHSElM5gyJOfCkxWySr7tood\n\
    eolIZnovJvntmRKGdaQ1saNTMFEwHQYDVR0OBBYEFPkV4zRBV/WYsuykqNoIkc0s\n\
    oCDlMB8GA1UdIwQYMBaAFPkV4zRBV/WYsuykqNoIkc0soCDlMA8GA1UdEwEB/wQF\n\
    MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhANZZVlkpgb7N44pOBsFkoL5cQTEuk1tG\n\
    L/ok0dzi+MUHAiEA4BgnXtXltTiLosnXCv3+oC9RPCOJc6ne2zuk7aaOMHs=\n\
    -----END CERTIFICATE-----\n";

/// A kubeconfig whose cluster has `authority`, a key with its comma.
fn text(authority: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{{"name": "c", "cluster": {{{authority} "server": "https://h"}}}}],
        "users": [{{"name": "u", "user": {{"token": "t"}}}}],
        "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}]}}"#
    )
}

/// One reader is all there is: what waits for a writer for ever would be the last that is read.
#[tokio::test]
async fn a_fifo_is_refused_at_once_and_the_file_in_its_place_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, fifo) = (folder.path().join("kubeconfig"), folder.path().join("ca.crt"));
    let connection = Connection::new(path.clone(), FILES_TIMEOUT, Arc::default());
    let refused = async || connection.client().await.err().unwrap().to_string();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let error = refused().await;
    assert!(error.contains(&format!("{}: it is a FIFO, ", path.display())), "{error}");
    fs::rename(&path, &fifo).unwrap();
    fs::write(&path, text(r#""certificate-authority": "ca.crt","#)).unwrap();
    let error = refused().await;
    assert!(error.contains(&format!("cannot read {}, which it names: it is a FIFO, ", fifo.display())), "{error}");
    fs::remove_file(&fifo).unwrap();
    fs::write(&fifo, AUTHORITY).unwrap();
    assert!(connection.client().await.is_ok());
}

#[tokio::test]
async fn credentials_that_are_being_read_are_not_read_once_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    fs::write(&path, text("")).unwrap();
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    inotify.add_watch(&path, AddWatchFlags::IN_OPEN | AddWatchFlags::IN_CLOSE_NOWRITE).unwrap();
    let connection = Connection::new(path, FILES_TIMEOUT, Arc::default());
    // Monitors that are quicker: the wait for it is over with what it waits for.
    tokio::select! {
        biased;
        () = connection.get_ready() => {}
        () = std::future::ready(()) => {}
    }
    let (first, second) = tokio::join!(connection.client(), connection.client());
    assert_eq!((first.unwrap().generation, second.unwrap().generation), (1, 1));
    let events = inotify.read_events().unwrap();
    assert_eq!(events.iter().filter(|event| event.mask.contains(AddWatchFlags::IN_OPEN)).count(), 1);
}

#[tokio::test]
async fn a_file_that_unusable_credentials_name_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    fs::write(&path, text("")).unwrap();
    let connection = Connection::new(path.clone(), FILES_TIMEOUT, Arc::default());
    let first = connection.connect().await.unwrap().generation;
    fs::write(&path, text(r#""certificate-authority": "ca.crt","#)).unwrap();
    assert!(connection.refresh().await, "the kubeconfig changed");
    assert_eq!(
        connection.client().await.unwrap().generation,
        first,
        "the old client stays until a new one can be built"
    );
    fs::write(folder.path().join("ca.crt"), AUTHORITY).unwrap();
    assert!(connection.refresh().await, "and so did what it names");
    assert_eq!(connection.client().await.unwrap().generation, first + 1);
}
