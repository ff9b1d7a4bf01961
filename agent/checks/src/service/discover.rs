//! Where the container runtime listens: what the kubelet is configured with, else where runtimes usually do.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use super::target::socket_path;

/// A kubelet's configuration has some KiB.
const FILE_LIMIT_BYTES: u64 = 256 * 1024;
const FLAG: &str = "--container-runtime-endpoint";
const KEY: &str = "containerRuntimeEndpoint";

/// Where runtimes listen by default: containerd, CRI-O, cri-dockerd, k3s and RKE2, k0s, MicroK8s.
const USUAL: [&str; 6] = [
    "run/containerd/containerd.sock",
    "run/crio/crio.sock",
    "run/cri-dockerd.sock",
    "run/k3s/containerd/containerd.sock",
    "run/k0s/containerd.sock",
    "var/snap/microk8s/common/run/containerd.sock",
];
/// Where flags of a kubelet stand that was installed by kubeadm or by a package.
const FLAG_FILES: [&str; 3] = ["var/lib/kubelet/kubeadm-flags.env", "etc/default/kubelet", "etc/sysconfig/kubelet"];
const CONFIG_FILE: &str = "var/lib/kubelet/config.yaml";

/// The runtime's socket, below `root`; `None`: no runtime is to be found.
pub(super) fn runtime(root: &Path) -> Option<PathBuf> {
    // Flags come before the file, as they do for the kubelet.
    let flags = FLAG_FILES.iter().find_map(|file| endpoint_in_flags(&text(&root.join(file))?));
    let configured = flags.or_else(|| endpoint_in_config(&text(&root.join(CONFIG_FILE))?));
    configured.or_else(|| USUAL.iter().map(|path| root.join(path)).find(|path| path.exists()))
}

fn endpoint_in_flags(text: &str) -> Option<PathBuf> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')));
    let mut words = words.skip_while(|word| !word.contains(FLAG));
    let flag = words.next()?;
    let value = flag.split_once(FLAG)?.1.strip_prefix('=').or_else(|| words.next())?;
    socket_path(value).ok()
}

/// One line of YAML at its top level; the kubelet's file is written by machines.
fn endpoint_in_config(text: &str) -> Option<PathBuf> {
    let value = text.lines().find_map(|line| line.strip_prefix(KEY)?.strip_prefix(':'))?;
    let value = value.split(" #").next()?.trim().trim_matches(['"', '\'']);
    socket_path(value).ok()
}

fn text(file: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(file).ok()?.take(FILE_LIMIT_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn put(root: &TempDir, file: &str, text: &str) {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn flags_come_before_the_file_and_both_before_what_is_usual() {
        let root = TempDir::new().unwrap();
        assert_eq!(runtime(root.path()), None);
        put(&root, "run/crio/crio.sock", "");
        assert_eq!(runtime(root.path()), Some(root.path().join("run/crio/crio.sock")));
        put(&root, CONFIG_FILE, "kind: KubeletConfiguration\ncontainerRuntimeEndpoint: \"unix:///run/a.sock\"\n");
        assert_eq!(runtime(root.path()), Some("/run/a.sock".into()));
        let flags = r#"KUBELET_KUBEADM_ARGS="--v=2 --container-runtime-endpoint=unix:///run/b.sock --x""#;
        put(&root, FLAG_FILES[0], flags);
        assert_eq!(runtime(root.path()), Some("/run/b.sock".into()));
    }

    #[test]
    fn what_is_no_socket_is_not_followed() {
        assert_eq!(endpoint_in_flags("# --container-runtime-endpoint=/run/a.sock"), None);
        assert_eq!(endpoint_in_flags("--container-runtime-endpoint tcp://1.2.3.4:1"), None);
        assert_eq!(endpoint_in_flags("A='--container-runtime-endpoint /run/c.sock'"), Some("/run/c.sock".into()));
        assert_eq!(endpoint_in_config("containerRuntimeEndpoint: ''"), None);
        assert_eq!(endpoint_in_config("  containerRuntimeEndpoint: /run/nested.sock"), None);
    }
}
