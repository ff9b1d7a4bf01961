//! The disk of a virtual worker: the tree that all machines have in common, what a worker has besides, and the modules of
//! a kernel of its own, as one ext4.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_vm::disk::Backing;

use super::{
    Common, Number, join,
    root::{Kind, Root},
};

/// Some room for pods; what is not written takes none.
const SIZE: &str = "6G";
const SHELL: &str = "/usr/sbin/nodewell-shell";
const SHELL_UNIT: &str = "nodewell-shell.service";
const NETWORK_UNIT: &str = "cluster-network.service";

/// A file with an ext4 on all of it.
#[derive(Debug)]
pub(super) struct Image(PathBuf);

impl Backing for Image {
    fn file(&self) -> String {
        self.0.display().to_string()
    }
}

impl Image {
    /// One in `folder`, with the credentials of a node that has joined.
    pub(super) fn make(common: &Common<'_>, number: Number, folder: &Path) -> Self {
        let parts = folder.join("parts");
        fs::create_dir(&parts).unwrap();
        let root = Root::prepare(common, number, Kind::Image, &parts);
        join(common.control_plane, number, &root);
        require_unified_hierarchy(&root);
        nodewell_kit::write_program(&root.made(SHELL), 0o755, nodewell_vm::shell_script());
        root.write(&format!("/etc/systemd/system/{SHELL_UNIT}"), include_str!("../../files/nodewell-shell.service"));
        root.write(&format!("/etc/systemd/system/{NETWORK_UNIT}"), &network_unit(common, number));
        [SHELL_UNIT, NETWORK_UNIT].iter().for_each(|unit| root.enable(unit));
        add_modules(&root);
        let image = Self(folder.join("image"));
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        let mut made = Command::new("mke2fs");
        made.args(["-q", "-F", "-t", "ext4", "-E", lazy, "-d"]).arg(root.path()).arg(&image.0).arg(SIZE);
        must("mke2fs", &mut made);
        drop(root);
        fs::remove_dir_all(parts).unwrap();
        image
    }
}

/// Its kubelet does not start on another one: what a case sees is seen on version 2.
fn require_unified_hierarchy(root: &Root) {
    const CONFIG: &str = "/var/lib/kubelet/config.yaml";
    let config = fs::read_to_string(root.made(CONFIG)).unwrap();
    let (either, version_2) = ("failCgroupV1: false", "failCgroupV1: true");
    assert!(config.contains(either), "the kubelet's configuration is another one: {config}");
    root.write(CONFIG, &config.replace(either, version_2));
}

/// As a container has its address and its routes from outside.
fn network_unit(common: &Common<'_>, number: Number) -> String {
    let address = |last| common.network.address(last);
    let mut commands = vec![
        "link set eth0 up".to_owned(),
        format!("addr add {}/24 dev eth0", address(number.last())),
        format!("route add default via {}", address(crate::control_plane::LAST)),
    ];
    commands.extend(
        number.others(common.workers).map(|other| format!("route add {} via {}", other.pods(), address(other.last()))),
    );
    let commands: String = commands.iter().map(|words| format!("ExecStart=/usr/sbin/ip {words}\n")).collect();
    include_str!("../../files/cluster-network.service").replace("@COMMANDS@\n", &commands)
}

/// With an index that the machine's own modprobe reads.
fn add_modules(root: &Root) {
    let modules = nodewell_vm::kernel_modules().unwrap_or_else(|why| panic!("{why}"));
    let release = modules.file_name().expect("it is called as its release is");
    let to = root.made("/usr/lib/modules").join(release);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    must("cp", Command::new("cp").arg("--recursive").arg(&modules).arg(&to));
    must("depmod", Command::new("chroot").arg(root.path()).arg("depmod").arg(release));
}

fn must(what: &str, command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
}
