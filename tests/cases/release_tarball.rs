//! The tarball: its install.sh into a tree and out of it again, and its programs on a system that has no libsystemd.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use nodewell_tests::{
    book::commands,
    cli::Outcome,
    leftovers,
    machine::Package,
    process::bounded,
    release,
    suite::{Need, Suite},
};
use tempfile::TempDir;

use crate::package_scripts::{copy_libraries, copy_program};

const PACKAGES: Need = Need::Other(release::packages_unmet);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("release_tarball")
        .case_with(&[PACKAGES, Need::Root], "goes_into_a_tree_and_out_of_it", goes_into_a_tree_and_out_of_it)
        .case_with(&[PACKAGES, Need::Root], "runs_without_libsystemd", runs_without_libsystemd);
}

/// Unpacked; the second is the folder that has install.sh.
fn unpacked() -> (TempDir, PathBuf) {
    let folder = leftovers::folder("tarball");
    release::make("tarball", &[], folder.path(), &[Package::built().path()], None);
    let archive = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--directory").arg(folder.path()).arg("--file").arg(&archive);
    assert!(tar.status().unwrap().success());
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap();
    let inside = folder.path().join(name);
    (folder, inside)
}

/// `install.sh --root ROOT ARGUMENTS`
fn install(tarball: &Path, root: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(tarball.join("install.sh"));
    command.arg("--root").arg(root).args(arguments).output().unwrap().into()
}

/// All files below `folder`, by what follows it.
fn files(folder: &Path) -> Vec<String> {
    let output = Command::new("find").arg(folder).args(["!", "-type", "d", "-printf", "%P\n"]).output().unwrap();
    let mut files: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    files.sort_unstable();
    files
}

fn goes_into_a_tree_and_out_of_it() {
    let (_folder, tarball) = unpacked();
    let root = leftovers::folder("tree");
    let usr = root.path().join("usr");
    let succeeds = |arguments: &[&str]| {
        let outcome = install(&tarball, root.path(), arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {outcome:?}");
        outcome.stdout
    };
    succeeds(&[]);
    let installed = files(&usr);
    for expected in ["bin/nodewelld", "lib/systemd/system/nodewell.service", "share/man/man8/nodewelld.8.gz"] {
        assert!(installed.iter().any(|file| file == expected), "{expected} is not in {installed:?}");
    }
    assert!(!installed.iter().any(|file| file.contains("lintian")), "what is Debian's alone stays out");

    // Again, over a version that had one file more, and a configuration that was changed.
    let (config, list) = (root.path().join("etc/nodewell/nodewell.toml"), usr.join("share/nodewell/tarball-files"));
    fs::write(&config, "# mine\n").unwrap();
    fs::write(usr.join("bin/nodewell-old"), "").unwrap();
    fs::write(&list, fs::read_to_string(&list).unwrap() + "usr/bin/nodewell-old\n").unwrap();
    succeeds(&[]);
    assert_eq!(files(&usr), installed);
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\n");

    for wrong in [&["--purge"][..], &["--uninstall", "--purge"], &["--force"]] {
        assert_eq!(install(&tarball, root.path(), wrong).code, 64, "{wrong:?}");
    }
    succeeds(&["--uninstall"]);
    assert_eq!(files(&usr), Vec::<String>::new());
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine\n");
    assert!(succeeds(&["--uninstall"]).contains("nothing was taken away"));
}

/// What install.sh and the scripts below call.
const TOOLS: [&str; 20] = [
    "cat", "chmod", "cmp", "cp", "dirname", "find", "grep", "gzip", "ls", "mkdir", "mv", "rm", "rmdir", "sed", "seq",
    "sleep", "tar", "timeout", "tr", "uname",
];

/// After the page's commands.
const SCRIPT: &str = r#"./install.sh
mkdir -p /run/nodewell
nodewelld --standalone >/agent.log 2>&1 &
for look in $(seq 600); do
  if nodewell status --json >/status.json 2>/dev/null && grep -q libsystemd.so.0 /status.json; then break; fi
  sleep 0.1
done
cat /status.json
./install.sh --uninstall
[ ! -e /usr/bin/nodewelld ]
"#;

/// A root of a shell, its tools and glibc.
fn runs_without_libsystemd() {
    let (_folder, tarball) = unpacked();
    let root = leftovers::folder("without-libsystemd");
    let at = |inside: &str| root.path().join(inside);
    for folder in ["bin", "dev", "tools", "proc", "run", "tmp", "opt", "usr", "etc"] {
        fs::create_dir(at(folder)).unwrap();
    }
    copy_program(root.path(), "sh", "bin/sh");
    TOOLS.iter().for_each(|tool| copy_program(root.path(), tool, &format!("tools/{tool}")));
    for program in ["nodewelld", "nodewell-checks", "nodewell"] {
        copy_libraries(root.path(), &tarball.join("usr/bin").join(program));
    }
    assert!(!files(root.path()).iter().any(|file| file.contains("libsystemd")));
    let name = tarball.file_name().unwrap().to_str().unwrap();
    let archive = tarball.with_file_name(format!("{name}.tar.gz"));
    assert!(Command::new("cp").args([&archive, &at("opt")]).status().unwrap().success());
    let page = commands("install.md", "tar -xf nodewell-").replace("nodewell-0.1.0-linux-x86_64", name);
    fs::write(at("script"), format!("set -e\ncd /opt\n{page}{SCRIPT}")).unwrap();

    // Namespaces of its own: what it has started ends with it, and its /proc is nowhere else.
    let mut command = bounded(Duration::from_secs(120), "unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child"]).arg(option("--mount-proc=", &at("proc")));
    command.arg("chroot").arg(root.path()).args(["/bin/sh", "/script"]);
    command.env_clear().env("PATH", "/tools:/usr/sbin:/usr/bin:/sbin:/bin");
    let outcome = Outcome::from(command.output().unwrap());
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.contains("There is no systemd here: start /usr/bin/nodewelld"), "{outcome:?}");
    assert!(outcome.stdout.contains("cannot load libsystemd.so.0"), "the journal alone is out of sight: {outcome:?}");
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}
