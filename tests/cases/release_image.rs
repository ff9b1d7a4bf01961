//! The controller's image: made twice it is the same bytes, its layout is what its digests say, and the root in it runs
//! the controller and its fence agents, as a user that may nothing. containerd imports it as docs/install.md has it, loads
//! it, and starts what it says as the user that it names.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use nodewell_kit::free_port;
use nodewell_tests::{
    book::{commands, workspace},
    cli::Outcome,
    containerd::{
        self, Containerd,
        engine::{self, Engine},
    },
    http::over_tcp,
    leftovers,
    machine::Package,
    process::{Process, bounded},
    release,
    suite::{Need, Suite},
    wait::until,
};
use serde_json::Value;
use tempfile::TempDir;

const NEEDS: &[Need] = &[Need::LongSuite, Need::Root, Need::Other(release::image_unmet)];
const NEEDS_CONTAINERD: &[Need] =
    &[Need::LongSuite, Need::Root, Need::Other(release::image_unmet), Need::Other(engine::unmet)];
const PROGRAM: &str = "/usr/bin/nodewell-controller";
const KUBECONFIG: &str = "/etc/nodewell/controller.kubeconfig";
/// The user that its configuration names.
const USER: &str = "65532:65532";
const LONG: Duration = Duration::from_secs(120);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("release_image")
        .case_with(NEEDS, "is_the_same_twice_and_runs", is_the_same_twice_and_runs)
        .case_with(NEEDS_CONTAINERD, "containerd_loads_and_runs_it", containerd_loads_and_runs_it);
}

/// A minute's work, which is done once for cases beside each other, and is gone with the last of them.
struct Image {
    file: PathBuf,
    _folder: TempDir,
}

fn image() -> Arc<Image> {
    static MADE: Mutex<Weak<Image>> = Mutex::new(Weak::new());
    let mut known = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(image) = known.upgrade() {
        return image;
    }
    let folder = leftovers::folder("image");
    let image = Arc::new(Image { file: made(folder.path()), _folder: folder });
    *known = Arc::downgrade(&image);
    image
}

/// The image, made in `folder`.
fn made(folder: &Path) -> PathBuf {
    release::make("image", &[], folder, &[Package::controller().path()], None);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let images: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "tar")).collect();
    assert_eq!(images.len(), 1, "{images:?}");
    images[0].clone()
}

fn unpack(archive: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--numeric-owner", "--directory"]).arg(to).arg("--file").arg(archive);
    assert!(tar.status().unwrap().success(), "{}", archive.display());
}

fn digest(file: &Path) -> String {
    let output = Command::new("sha256sum").arg(file).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    format!("sha256:{}", text.split(' ').next().unwrap())
}

/// The file that a descriptor stands for, if it is what the descriptor says.
fn blob(layout: &Path, descriptor: &Value) -> PathBuf {
    let name = descriptor["digest"].as_str().unwrap();
    let file = layout.join("blobs/sha256").join(name.strip_prefix("sha256:").unwrap());
    assert_eq!(digest(&file), name);
    assert_eq!(fs::metadata(&file).unwrap().len(), descriptor["size"].as_u64().unwrap());
    file
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The image's configuration, and its one layer, unpacked into `root`.
fn read(layout: &Path, root: &Path) -> Value {
    assert_eq!(json(&layout.join("oci-layout"))["imageLayoutVersion"], "1.0.0");
    let index = json(&layout.join("index.json"));
    let manifest = json(&blob(layout, &index["manifests"][0]));
    let config = json(&blob(layout, &manifest["config"]));
    let layer = blob(layout, &manifest["layers"][0]);
    unpack(&layer, root);
    // Its digest is of the layer as it is without gzip.
    let plain = layout.join("layer.tar");
    let output = Command::new("gzip").args(["--decompress", "--stdout"]).arg(&layer).output().unwrap();
    fs::write(&plain, output.stdout).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"][0], digest(&plain));
    config
}

/// What a container engine would give it: namespaces, a private /dev and /tmp, and the image's user. Its network is
/// ours, as the host's is the controller's.
const ENTER: &str = r#"set -e
root=$1 user=$2
shift 2
mount -t proc proc "$root/proc"
mount -t tmpfs dev "$root/dev"
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/urandom" c 1 9
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
# Not `exec`: what changes its user forgets that it ends with its parent, and this shell ends all of them.
chroot --userspec="$user" "$root" "$@"
exit $?"#;

fn entering(root: &Path) -> Vec<OsString> {
    let fixed = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh"].map(OsString::from);
    fixed.into_iter().chain([root.into(), USER.into()]).collect()
}

fn run(root: &Path, words: &[&str]) -> Outcome {
    let entering = entering(root);
    let mut command = bounded(LONG, &entering[0]);
    command.args(&entering[1..]).args(words).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.output().unwrap().into()
}

fn is_the_same_twice_and_runs() {
    let (image, folder) = (image(), leftovers::folder("image"));
    match no_engine() {
        None => is_imported(&image.file),
        Some(why) => eprintln!("SKIP release_image: no engine has imported it: {why}"),
    }
    let same = Command::new("cmp").arg(&image.file).arg(made(folder.path())).output().unwrap();
    assert!(same.status.success(), "{}", String::from_utf8_lossy(&same.stdout));
    let (layout, root) = (folder.path().join("layout"), folder.path().join("root"));
    unpack(&image.file, &layout);
    let config = read(&layout, &root);
    assert_eq!(config["config"]["User"], USER);
    assert_eq!(config["config"]["Entrypoint"][0], PROGRAM);
    ["dev", "proc", "tmp"].iter().for_each(|folder| fs::create_dir_all(root.join(folder)).unwrap());

    is_of_this_version(&run(&root, &[PROGRAM, "--version"]));
    let checked = run(&root, &[PROGRAM, "check"]);
    assert!(checked.code == 0 && checked.stdout.contains("the configuration is right"), "{checked:?}");
    for agent in ["fence_ipmilan", "fence_redfish", "fence_apc_snmp", "fence_virsh"] {
        let metadata = run(&root, &[&format!("/usr/sbin/{agent}"), "-o", "metadata"]);
        assert!(metadata.code == 0 && metadata.stdout.contains("<resource-agent"), "{agent}: {metadata:?}");
    }
    for program in [&["ipmitool", "-V"][..], &["snmpget", "-V"], &["ssh", "-V"]] {
        let found = run(&root, program);
        assert_eq!(found.code, 0, "{program:?}: {found:?}");
    }
    answers(&root);
}

/// Why no container engine of this machine's can have it.
fn no_engine() -> Option<String> {
    let no_ctr = || Command::new("ctr").arg("--version").output().is_err();
    containerd::unmet().or_else(|| no_ctr().then(|| "needs ctr (Debian's package containerd)".to_owned()))
}

/// On a control-plane host with folders of its own: what the page's commands write is written into the folder where
/// they are typed. The shell that types them sees these folders alone.
const ON_A_HOST: &str = r#"set -e
mkdir -p etc/kubernetes/manifests lib log
cp /etc/passwd /etc/group etc/
mount --bind etc /etc
mount --bind lib /var/lib
mount --bind log /var/log
exec sh -ec "$1""#;
/// Layers as folders: nothing is asked of the kernel that a container may not have.
const SNAPSHOTTER: &str = "native";
const POD: &str = "docs/examples/controller-pod.yaml";

/// By the page's commands, under the name by which the static pod asks for it, which no registry is asked for.
fn is_imported(image: &Path) {
    let (containerd, host) = (Containerd::start(), leftovers::folder("control-plane"));
    let on_host = |script: &str| {
        let mut command = bounded(LONG, "unshare");
        command.args(["--mount", "sh", "-c", ON_A_HOST, "sh", script]).current_dir(host.path());
        command.env("CONTAINERD_ADDRESS", containerd.socket()).env("CONTAINERD_SNAPSHOTTER", SNAPSHOTTER);
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.code, 0, "{script}\n{outcome:?}");
        outcome.stdout
    };
    let (name, at) = (image.file_name().unwrap().to_str().unwrap(), |inside: &str| host.path().join(inside));
    fs::copy(image, at(name)).unwrap();
    fs::write(at("controller.kubeconfig"), "{}").unwrap();
    let pod = fs::read_to_string(workspace().join(POD)).unwrap();
    fs::write(at("controller-pod.yaml"), &pod).unwrap();
    let page = commands("install.md", "ctr ");
    assert!(page.contains("nodewell-controller-0.1.0-amd64.oci.tar"), "{page}");
    on_host(&page.replace("nodewell-controller-0.1.0-amd64.oci.tar", name));

    let asked_for = pod.lines().find_map(|line| line.trim().strip_prefix("image: ")).unwrap();
    let known = on_host("ctr --namespace k8s.io images list --quiet");
    assert!(known.lines().any(|one| one == asked_for), "no {asked_for} in {known}");
    for (file, mode, user, group) in [
        ("lib/nodewell-controller", 0o700, 65532, 65532),
        ("log/nodewell-controller", 0o700, 65532, 65532),
        ("etc/nodewell/controller.kubeconfig", 0o640, 0, 65532),
        ("etc/kubernetes/manifests/nodewell-controller.yaml", 0o600, 0, 0),
    ] {
        let of = fs::metadata(at(file)).unwrap();
        assert_eq!((of.mode() & 0o777, of.uid(), of.gid()), (mode, user, group), "{file}");
    }
}

fn is_of_this_version(asked: &Outcome) {
    assert_eq!((asked.code, asked.stdout.contains(env!("CARGO_PKG_VERSION"))), (0, true), "{asked:?}");
}

/// The controller itself, without a cluster.
fn answers(root: &Path) {
    let address = format!("127.0.0.1:{}", free_port());
    let kubeconfig = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}"#;
    fs::write(root.join(KUBECONFIG.trim_start_matches('/')), kubeconfig).unwrap();
    let text = format!("metrics-listen = {address:?}\n[webhook]\nlisten = \"off\"\n");
    fs::write(root.join("etc/nodewell/nodewell-controller.toml"), text).unwrap();
    let mut argv = entering(root);
    let words = [PROGRAM, "run", "--kubeconfig", KUBECONFIG];
    argv.extend(words.map(OsString::from));
    let log = leftovers::folder("image-log");
    let _controller = Process::start(&argv, &log.path().join("log")).unwrap();
    until(&format!("it answers; its log is {}", log.path().display()), || {
        over_tcp(&address, "/healthz").filter(|answer| answer.body == "ok\n")
    });
}

/// From the file alone: it has no network.
fn containerd_loads_and_runs_it() {
    let (image, engine) = (image(), Engine::start().unwrap());
    let name = format!("localhost/nodewell-controller:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(engine.import(&image.file), [name.as_str()]);
    is_of_this_version(&engine.run(&name, &[PROGRAM, "--version"]));
    let ids = ["--user", "--group"].map(|of| engine.run(&name, &["/usr/bin/id", of]).stdout.trim_end().to_owned());
    assert_eq!(ids.join(":"), USER);
    // Without a word it does what the image says, and the file is not in the image.
    let started = engine.run(&name, &[]);
    assert!(started.code != 0 && started.stderr.contains(KUBECONFIG), "{started:?}");
}
