//! The units as they are shipped: which service has which user, what that user owns, and that the upgrade from a package
//! whose check processes had the agent's user leaves none of its state behind.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{MetadataExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

use nodewell_tests::suite::{Need, Suite};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("unit_users")
        .case("no_two_services_share_a_user", no_two_services_share_a_user)
        .case("the_agents_group_is_of_those_that_give_it_something", the_agents_group)
        .case("each_user_is_made_and_goes_at_the_purge", each_user_is_made_and_goes)
        .case("a_service_that_gets_a_capability_is_skipped_where_there_is_none", each_capability_is_a_condition)
        .case("who_may_read_every_file_sees_no_secret_in_memory", secrets_are_out_of_sight)
        .case_with(
            &[Need::Root, Need::Other(no_systemd)],
            "state_is_of_its_user_alone_after_an_upgrade",
            state_is_of_its_user,
        )
        .case_with(&[Need::Other(no_verify)], "systemd_takes_the_units", systemd_takes_the_units);
}

/// What is root's, with the reason in its unit. All that they share is that each could become root.
const ROOTS: [&str; 4] = ["nodewell-check", "nodewell-identity", "nodewell-pstore-collector", "nodewell-repair"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd").canonicalize().unwrap()
}

fn text(path: &str) -> String {
    fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Each service by its name.
fn services() -> BTreeMap<String, String> {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let services = names.filter(|name| name.ends_with(".service"));
    services.map(|name| (name.trim_end_matches(".service").to_owned(), text(&name))).collect()
}

fn setting<'a>(unit: &'a str, name: &str) -> Option<&'a str> {
    unit.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// The users that the package makes.
fn users() -> BTreeSet<String> {
    let text = text("nodewell.sysusers");
    let lines = text.lines().filter_map(|line| line.strip_prefix("u "));
    lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

fn no_two_services_share_a_user() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (service, unit) in services() {
        let own = setting(&unit, "DynamicUser") == Some("yes");
        let user =
            setting(&unit, "User").map_or_else(|| if own { service.clone() } else { "root".into() }, str::to_owned);
        if user == "root" {
            assert!(ROOTS.contains(&service.as_str()), "{service} is root's; why?");
            assert!(setting(&unit, "CapabilityBoundingSet").is_some(), "{service} has every right of root");
        } else if let Some(other) = seen.insert(user.clone(), service.clone()) {
            panic!("{service} and {other} are both {user}'s: one could write into the other's memory");
        }
    }
    let made: BTreeSet<_> = seen.into_keys().filter(|user| user != "nodewell-controller").collect();
    assert_eq!(made, users());
}

fn the_agents_group() {
    for (service, unit) in services() {
        let groups = ["Group", "SupplementaryGroups"].map(|name| setting(&unit, name).unwrap_or_default());
        let is_in = groups.iter().flat_map(|names| names.split(' ')).any(|group| group == "nodewell");
        let gives = ["nodewell", "nodewell-identity", "nodewell-pstore-collector"].contains(&service.as_str());
        assert_eq!(is_in, gives, "{service} may read what is the agent's");
    }
}

fn each_user_is_made_and_goes() {
    let purge = text("../packaging/scripts/nodewell");
    let goes = purge.lines().find_map(|line| line.trim().strip_prefix("for user in ")?.strip_suffix("; do")).unwrap();
    assert_eq!(goes.split(' ').map(str::to_owned).collect::<BTreeSet<_>>(), users());
}

/// systemd cannot give what it does not have: the start would fail, every five seconds.
fn each_capability_is_a_condition() {
    for (service, unit) in services() {
        let given: BTreeSet<_> = setting(&unit, "AmbientCapabilities").unwrap_or_default().split_whitespace().collect();
        let asked: BTreeSet<_> = unit.lines().filter_map(|line| line.strip_prefix("ConditionCapability=")).collect();
        assert_eq!(given, asked, "{service}");
    }
}

/// What is on a disk can be read raw by the service that has this right; what is in memory only, by its path.
fn secrets_are_out_of_sight() {
    const SECRETS: [&str; 4] = ["/var/lib/nodewell", "/run/nodewell/identity", "/var/lib/kubelet", "/run/credentials"];
    let has_right = |unit: &&String| {
        setting(unit, "AmbientCapabilities").is_some_and(|given| given.contains("CAP_DAC_READ_SEARCH"))
    };
    let services = services();
    for unit in services.values().filter(has_right) {
        let hidden: Vec<_> = setting(unit, "InaccessiblePaths").unwrap_or_default().split(' ').collect();
        SECRETS.iter().for_each(|path| assert!(hidden.contains(&format!("-{path}").as_str()), "{path} can be read"));
    }
}

/// As the postinst runs it: users first, then folders. What the earlier package's check processes have saved as the agent's
/// user is the new user's.
fn state_is_of_its_user() {
    let root = tempfile::TempDir::with_prefix("nodewell-users-").unwrap();
    for (file, content) in [
        ("passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("group", "root:x:0:\nsystemd-journal:x:999:\n"),
        ("machine-id", ""),
    ] {
        fs::create_dir_all(root.path().join("etc")).unwrap();
        fs::write(root.path().join("etc").join(file), content).unwrap();
    }
    let state = root.path().join("var/lib");
    fs::create_dir_all(&state).unwrap();
    on(root.path(), "systemd-sysusers", "nodewell.sysusers");
    let number = |user: &str| number_of(root.path(), user);
    let all = users();
    let of_earlier_packages = all.iter().filter(|user| *user != "nodewell");
    for service in of_earlier_packages {
        let (folder, file) = (state.join(service), state.join(service).join("saved.json"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "{}").unwrap();
        [folder, file].iter().for_each(|path| chown(path, Some(number("nodewell")), Some(number("nodewell"))).unwrap());
    }
    on(root.path(), "systemd-tmpfiles", "nodewell.tmpfiles");
    for service in &all {
        let of = |path: &Path| fs::metadata(path).map(|of| (of.uid(), of.gid(), of.mode() & 0o777)).unwrap();
        assert_eq!(of(&state.join(service)), (number(service), number(service), 0o700), "{service}");
        if service != "nodewell" {
            assert_eq!(of(&state.join(service).join("saved.json")).0, number(service), "{service}");
        }
    }
}

fn on(root: &Path, program: &str, file: &str) {
    let mut command = Command::new(program);
    command.arg(format!("--root={}", root.display())).arg(folder().join(file));
    if program == "systemd-tmpfiles" {
        command.arg("--create");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

fn number_of(root: &Path, user: &str) -> u32 {
    let passwd = fs::read_to_string(root.join("etc/passwd")).unwrap();
    let line = passwd.lines().find_map(|line| line.strip_prefix(&format!("{user}:x:"))).unwrap();
    line.split(':').next().unwrap().parse().unwrap()
}

/// In a root that has the units and nothing else but a file in place of each program.
fn systemd_takes_the_units() {
    let root = tempfile::TempDir::with_prefix("nodewell-units-").unwrap();
    let units = root.path().join("usr/lib/systemd/system");
    fs::create_dir_all(&units).unwrap();
    fs::create_dir_all(root.path().join("usr/bin")).unwrap();
    for program in ["nodewelld", "nodewell-checks", "nodewell", "nodewell-controller"] {
        fs::copy("/bin/true", root.path().join("usr/bin").join(program)).unwrap();
    }
    std::os::unix::fs::symlink("usr/bin", root.path().join("bin")).unwrap();
    fs::copy("/bin/sh", root.path().join("usr/bin/sh")).unwrap();
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no", "--recursive-errors=no"]).arg(format!("--root={}", root.path().display()));
    for entry in fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if [".service", ".socket", ".slice", ".path", ".timer"].iter().any(|kind| name.ends_with(kind)) {
            fs::copy(entry.path(), units.join(&name)).unwrap();
            command.arg(&name);
        }
    }
    let output = command.output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<_> = complaints.lines().filter(|line| line.contains("nodewell")).collect();
    assert!(ours.is_empty(), "{complaints}");
}

/// Why this machine does not know what a unit is.
fn no_systemd() -> Option<String> {
    let runs = |program: &&str| Command::new(program).arg("--version").output().is_ok();
    let missing =
        ["systemd-sysusers", "systemd-tmpfiles", "systemd-analyze"].into_iter().find(|program| !runs(program));
    missing.map(|program| format!("needs {program}"))
}

/// Why units in another root cannot be looked at: systemd before 250.
fn no_verify() -> Option<String> {
    no_systemd().or_else(|| {
        let help = Command::new("systemd-analyze").arg("--help").output().unwrap();
        let knows = String::from_utf8_lossy(&help.stdout).contains("--recursive-errors");
        (!knows).then(|| "needs systemd 250".to_owned())
    })
}
