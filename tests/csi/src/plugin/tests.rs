//! The program's sockets, asked as the kubelet asks them, with volumes in a mount namespace of the test's own.

use std::{fs, io::Write, time::Duration};

use h2::client;
use hyper::{HeaderMap, Request, body::Bytes};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
    unistd::geteuid,
};
use tempfile::TempDir;
use tokio::{net::UnixStream, runtime::Builder, task::JoinHandle, time::timeout};

use super::*;
use crate::{
    ATTACHED_TO,
    wire::{Fields, Message},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// A driver that serves in a folder of its own.
struct Served {
    folder: TempDir,
    plugin: Plugin,
    ended: JoinHandle<Result<Infallible, Error>>,
}

impl Served {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let (volumes, kubelet) = (folder.path().join("volumes"), folder.path().join("kubelet"));
        fs::create_dir_all(volumes.join("ledger")).unwrap();
        let plugin = Plugin { node: "w2".to_owned(), volumes, kubelet };
        // What an earlier run has left.
        fs::create_dir_all(plugin.registry().parent().unwrap()).unwrap();
        fs::write(plugin.registry(), "").unwrap();
        let ended = tokio::spawn(plugin.clone().run());
        Self { folder, plugin, ended }
    }

    /// Where the kubelet would have a volume of a pod.
    fn target(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    async fn ask(&self, method: &str, message: Message) -> Result<Vec<u8>, String> {
        let socket = if method.starts_with("/csi.") { self.plugin.endpoint() } else { self.plugin.registry() };
        timeout(PATIENCE, call(&socket, method, message)).await.unwrap()
    }

    /// A request for a volume that is attached to `node`.
    async fn publish(&self, volume: &str, node: &str, is_read_only: bool) -> Result<Vec<u8>, String> {
        let attached = Message::default().text(1, ATTACHED_TO).text(2, node);
        let mounted = Message::default().message(2, &Message::default());
        let request = Message::default().text(1, volume).message(2, &attached);
        let request = request.text(4, &self.target().to_string_lossy()).message(5, &mounted);
        self.ask("/csi.v1.Node/NodePublishVolume", request.flag(6, is_read_only)).await
    }

    async fn unpublish(&self) -> Result<Vec<u8>, String> {
        let request = Message::default().text(1, "ledger").text(2, &self.target().to_string_lossy());
        self.ask("/csi.v1.Node/NodeUnpublishVolume", request).await
    }
}

/// One unary call; the error is code and message.
async fn call(socket: &Path, method: &str, message: Message) -> Result<Vec<u8>, String> {
    let stream = loop {
        match UnixStream::connect(socket).await {
            Ok(stream) => break stream,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let (mut sender, connection) = client::handshake(stream).await.unwrap();
    drop(tokio::spawn(connection));
    let request = Request::post(format!("http://localhost{method}")).header("te", "trailers");
    let request = request.header("content-type", "application/grpc").body(()).unwrap();
    let (response, mut sending) = sender.send_request(request, false).unwrap();
    let message = message.into_bytes();
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    sending.send_data(Bytes::from([&[0], &length[..], &message].concat()), true).unwrap();
    let (head, mut body) = response.await.unwrap().into_parts();
    failure(&head.headers).map_or(Ok(()), Err)?;
    let mut answer = Vec::new();
    while let Some(data) = body.data().await {
        answer.extend_from_slice(&data.unwrap());
    }
    let trailers = body.trailers().await.unwrap().unwrap();
    assert_eq!(trailers["grpc-status"], "0");
    Ok(answer.split_off(5))
}

fn failure(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    headers.contains_key("grpc-status").then(|| format!("{} {}", text("grpc-status"), text("grpc-message")))
}

/// On one thread, which may have mounts of its own.
fn run(test: impl Future<Output = ()>) {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// Whether this thread may mount, where no other sees it.
fn has_own_mounts(test: &str) -> bool {
    separate_mounts();
    if !geteuid().is_root() {
        let _ = writeln!(std::io::stderr(), "SKIP {test}: needs root");
    }
    geteuid().is_root()
}

/// What root's thread mounts from here on, it mounts for itself; no other user's does.
fn separate_mounts() {
    if geteuid().is_root() {
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        let flags = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, flags, None::<&str>).unwrap();
    }
}

#[test]
fn the_kubelet_finds_the_driver_and_learns_its_node() {
    run(async {
        let served = Served::start();
        let info = served.ask("/pluginregistration.Registration/GetInfo", Message::default()).await.unwrap();
        let info = Fields::new(&info);
        assert_eq!([info.text(1), info.text(2), info.text(4)], [Ok("CSIPlugin"), Ok(DRIVER), Ok("1.0.0")]);
        assert_eq!(info.text(3), Ok(served.plugin.endpoint().to_str().unwrap()));

        let node = served.ask("/csi.v1.Node/NodeGetInfo", Message::default()).await.unwrap();
        assert_eq!(Fields::new(&node).text(1), Ok("w2"));
        let name = served.ask("/csi.v1.Identity/GetPluginInfo", Message::default()).await.unwrap();
        assert_eq!(Fields::new(&name).text(1), Ok(DRIVER));
        let ready = served.ask("/csi.v1.Identity/Probe", Message::default()).await.unwrap();
        assert_eq!(Fields::new(Fields::new(&ready).all(1).unwrap()[0]).flag(1), Ok(true));
        for method in ["/csi.v1.Node/NodeGetCapabilities", "/csi.v1.Identity/GetPluginCapabilities"] {
            assert_eq!(served.ask(method, Message::default()).await.as_deref(), Ok(&[][..]), "{method}");
        }
        let unknown = served.ask("/csi.v1.Node/NodeStageVolume", Message::default()).await.unwrap_err();
        assert!(unknown.starts_with("12 "), "{unknown}");
    });
}

#[test]
fn it_ends_when_the_kubelet_refuses_it() {
    run(async {
        let mut served = Served::start();
        let method = "/pluginregistration.Registration/NotifyRegistrationStatus";
        served.ask(method, Message::default().flag(1, true)).await.unwrap();
        assert!(!served.ended.is_finished(), "it was registered");
        served.ask(method, Message::default().flag(1, false).text(2, "no such version")).await.unwrap();
        let ended = timeout(PATIENCE, &mut served.ended).await.unwrap().unwrap();
        assert!(matches!(&ended, Err(Error::Refused(why)) if why == "no such version"), "{ended:?}");
    });
}

#[test]
fn what_one_mount_writes_is_in_the_volume_and_stays_there() {
    if !has_own_mounts("what_one_mount_writes_is_in_the_volume_and_stays_there") {
        return;
    }
    run(async {
        let served = Served::start();
        let file = served.plugin.volumes.join("ledger/lines");
        for repeated in 0..2 {
            served.publish("ledger", "w2", false).await.unwrap();
            fs::write(served.target().join("lines"), format!("{repeated}")).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
        // Mounted once, although it was asked for twice.
        nix::mount::umount(&served.target()).unwrap();
        assert!(!served.target().join("lines").exists());

        served.publish("ledger", "w2", true).await.unwrap();
        let refused = fs::write(served.target().join("lines"), "2").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ReadOnlyFilesystem);
        for _ in 0..2 {
            served.unpublish().await.unwrap();
            assert!(!served.target().exists());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "1");
    });
}

/// After a power cut the folder is there and nothing is mounted.
#[test]
fn a_folder_that_a_boot_has_left_is_removed() {
    if !has_own_mounts("a_folder_that_a_boot_has_left_is_removed") {
        return;
    }
    run(async {
        let served = Served::start();
        fs::create_dir(served.target()).unwrap();
        served.unpublish().await.unwrap();
        assert!(!served.target().exists());
    });
}

#[test]
fn a_volume_that_is_not_there_or_not_attached_to_the_node_is_mounted_nowhere() {
    separate_mounts();
    run(async {
        let served = Served::start();
        fs::create_dir(served.folder.path().join("beside")).unwrap();
        for (volume, node, code) in
            [("ledger", "w3", "9 "), ("ledger", "", "9 "), ("other", "w2", "5 "), ("../beside", "w2", "3 ")]
        {
            let refused = served.publish(volume, node, false).await.unwrap_err();
            assert!(refused.starts_with(code), "{volume} on {node}: {refused}");
            assert!(!served.target().exists());
        }
    });
}
