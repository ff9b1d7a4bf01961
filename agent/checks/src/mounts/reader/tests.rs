//! Made-up tables over real folders.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use super::*;

struct Machine {
    root: tempfile::TempDir,
    reader: MountsReader,
}

/// The number of the filesystem that tests make folders on.
fn number(path: &Path) -> String {
    let device = fs::metadata(path).unwrap().dev();
    format!("{}:{}", stat::major(device), stat::minor(device))
}

fn machine(ignore: &[&str]) -> Machine {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("proc/self")).unwrap();
    let at = |name| root.path().join(name);
    let roots = Roots { proc: at("proc"), sys: at("sys"), ..Roots::default() };
    let ignore = ignore.iter().map(|glob| (*glob).to_owned()).collect();
    let settings = MountsSettings { ignore, fstab: at("fstab"), ..MountsSettings::default() };
    Machine { reader: MountsReader::new(roots, &settings), root }
}

impl Machine {
    fn mounts(&self, lines: &[String]) {
        fs::write(self.root.path().join("proc/self/mountinfo"), lines.join("\n")).unwrap();
    }

    fn folder(&self, name: &str) -> String {
        let path = self.root.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn rows(&mut self) -> Vec<Row> {
        self.reader.read(TABLE).unwrap().parse().unwrap()
    }

    fn ask(&mut self, device: &str) -> Result<MountsReading, ReadError> {
        self.reader.read(device).map(|reading| reading.parse().unwrap())
    }
}

fn line(id: u64, number: &str, point: &str, rest: &str) -> String {
    format!("{id} 1 {number} / {point} rw - {rest}")
}

#[test]
fn each_filesystem_is_listed_once_and_each_server_too() {
    let mut machine = machine(&["/scratch*"]);
    machine.mounts(&[
        line(1, "8:1", "/", "ext4 /dev/sda1 rw"),
        "2 1 8:1 /var /var/lib/kubelet/pods/a/volumes/b rw - ext4 /dev/sda1 rw".to_owned(),
        "3 1 8:1 /etc /e rw - ext4 /dev/sda1 rw".to_owned(),
        line(4, "8:2", "/data", "ext4 /dev/sda2 rw"),
        line(5, "8:3", "/data", "xfs /dev/sda3 rw,emergency_ro"),
        line(6, "8:4", "/scratch1", "xfs /dev/sda4 rw"),
        line(7, "0:50", "/home", "nfs4 filer:/home rw,hard"),
        line(8, "0:51", "/var/lib/kubelet/pods/a/volumes/c", "nfs4 filer:/c rw"),
        line(9, "8:5", "/var/lib/kubelet/pods/a/volumes/d", "ext4 /dev/sda5 rw"),
        line(10, "0:52", "/run", "tmpfs tmpfs rw"),
    ]);
    assert_eq!(machine.reader.list().unwrap(), [TABLE, "/", "/data", "nfs:filer", "nfs:filer"]);
    let rows = machine.rows();
    let known: Vec<_> = rows.iter().map(|row| (row.point.as_str(), row.number.as_str(), row.is_volume)).collect();
    let pod = "/var/lib/kubelet/pods/a/volumes/c";
    assert_eq!(known, [("/", "8:1", false), ("/data", "8:3", false), ("/home", "0:50", false), (pod, "0:51", true)]);
    assert!(rows[1].is_cut_off, "the later mount of two at one point is seen");
}

#[test]
fn the_table_has_what_the_kernel_and_fstab_have_of_a_disk() {
    let mut machine = machine(&[]);
    machine.mounts(&[line(1, "8:1", "/data", "ext4 /dev/sda1 ro")]);
    let sys = machine.root.path().join("sys");
    fs::create_dir_all(sys.join("dev/block")).unwrap();
    fs::create_dir_all(sys.join("fs/ext4/sda1")).unwrap();
    std::os::unix::fs::symlink("../../devices/sda/sda1", sys.join("dev/block/8:1")).unwrap();
    fs::write(sys.join("fs/ext4/sda1/errors_count"), "3\n").unwrap();
    fs::write(machine.root.path().join("fstab"), "/dev/sda1 /data ext4 defaults\n").unwrap();
    let row = machine.rows().remove(0);
    assert_eq!((row.name.as_deref(), row.errors), (Some("sda1"), Some(3)));
    assert!(row.is_read_only && !row.is_cut_off && row.wants_writes);
}

#[test]
fn a_filesystem_is_asked_where_it_is_and_nowhere_else() {
    let mut machine = machine(&[]);
    let (here, wrong) = (machine.folder("here"), machine.folder("wrong"));
    let number = number(machine.root.path());
    machine.mounts(&[
        line(1, &number, &here, "ext4 /dev/sda1 rw"),
        line(2, "8:200", &wrong, "ext4 /dev/sda2 rw"),
        line(3, "8:201", "/nowhere/at/all", "ext4 /dev/sda3 rw"),
    ]);
    if let Some(StatfsResult::Usage(usage)) = machine.ask(&here).ok().and_then(|reading| reading.get(&here).copied()) {
        assert!(usage.used_bytes > 0 && usage.left_bytes > 0, "{usage:?}");
    } else {
        // Where tests make folders on a tmpfs, its number is of no device.
        assert!(number.starts_with("0:"));
    }
    for point in [wrong.as_str(), "/nowhere/at/all", "never heard of"] {
        assert!(matches!(machine.ask(point), Err(ReadError::Gone { .. })), "{point}");
    }
}

#[test]
fn what_answers_with_an_error_names_it() {
    let mut machine = machine(&[]);
    let long = format!("/{}", "x".repeat(300));
    machine.mounts(&[line(1, "8:1", &long, "ext4 /dev/sda1 rw")]);
    assert_eq!(machine.ask(&long).unwrap()[&long], StatfsResult::Failed(nix::libc::ENAMETOOLONG));
}

#[test]
fn without_a_table_there_is_nothing() {
    assert!(matches!(machine(&[]).reader.list(), Err(ReadError::Gone { .. })));
    let mut machine = machine(&[]);
    machine.mounts(&["garbage".to_owned()]);
    assert_eq!(machine.reader.list().unwrap(), [TABLE]);
}
