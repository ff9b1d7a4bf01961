//! SHA256SUMS as packaging/release/sums writes and signs it, and the commands of docs/install.md that check it: what
//! was changed on the way is found, in a file and in the list itself.

use std::{fs, path::Path, process::Command, time::Duration};

use nodewell_tests::{
    book::commands,
    cli::Outcome,
    leftovers,
    process::bounded,
    release::{self, Key},
    suite::{Need, Suite},
};

const TOOLS: Need = Need::Other(release::sums_unmet);
const LIMIT: Duration = Duration::from_secs(120);
const RPM: &str = "nodewell-0.1.0-1.x86_64.rpm";
const DEB: &str = "nodewell_0.1.0-1_amd64.deb";
const KEY: &str = "nodewell.asc";
const SUMS: &str = "SHA256SUMS";

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("release_sums").case_with(&[TOOLS], "what_was_changed_is_found", what_was_changed_is_found);
}

/// The page's commands, in the folder of what was downloaded, by a person whose keyring this is.
fn checked(downloads: &Path, keyring: &Path) -> Outcome {
    let mut command = bounded(LIMIT, "sh");
    command.args(["-ec", &commands("install.md", "sha256sum --check")]).current_dir(downloads);
    command.env("GNUPGHOME", keyring).env("LC_ALL", "C.UTF-8").output().unwrap().into()
}

fn what_was_changed_is_found() {
    let (key, published) = (Key::throw_away(), leftovers::folder("published"));
    let at = |name: &str| published.path().join(name);
    fs::write(at(RPM), "one package").unwrap();
    fs::write(at(DEB), "another package").unwrap();
    // A repository has lists of its own.
    fs::create_dir(at("apt")).unwrap();
    fs::write(at("apt/Release"), "").unwrap();
    key.publish(&at(KEY));
    release::sums(published.path(), &key);
    let list = fs::read_to_string(at(SUMS)).unwrap();
    let names: Vec<&str> = list.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    assert_eq!(names, [RPM, KEY, DEB], "{list}");

    // One of the packages, as a person takes it.
    let (downloads, keyring) = (leftovers::folder("downloads"), leftovers::folder("keyring"));
    let here = |name: &str| downloads.path().join(name);
    for name in [DEB, KEY, SUMS, "SHA256SUMS.asc"] {
        fs::copy(at(name), here(name)).unwrap();
    }
    let check = || checked(downloads.path(), keyring.path());
    let right = check();
    assert_eq!(right.code, 0, "{right:?}");
    assert!(right.stdout.contains(&format!("{DEB}: OK")) && right.stderr.contains("Good signature"), "{right:?}");

    fs::write(here(DEB), "a third package").unwrap();
    let changed = check();
    assert!(changed.code != 0 && changed.stdout.contains(&format!("{DEB}: FAILED")), "{changed:?}");
    // The list with it.
    let output = Command::new("sha256sum").arg(DEB).current_dir(downloads.path()).output().unwrap();
    fs::write(here(SUMS), output.stdout).unwrap();
    let forged = check();
    assert!(forged.code != 0 && forged.stdout.contains(&format!("{DEB}: OK")), "{forged:?}");
    assert!(forged.stderr.contains("BAD signature"), "{forged:?}");
}
