//! What the hash of a rule set tells apart.

use super::*;
use crate::shipped;

fn hash(plan: &LoadPlan) -> String {
    let loaded = load(plan);
    assert_eq!(loaded.diagnostics, []);
    loaded.set.hash
}

#[test]
fn names_and_bytes_of_files_count_and_not_where_they_lie() {
    let files = [("a.toml", rule("A", "a")), ("b.toml", rule("B", "b"))];
    let (base, elsewhere) = (directory(&files), directory(&files));
    let known = hash(&from(base.path()));
    assert_eq!(hash(&from(elsewhere.path())), known);
    assert_eq!(known.len(), "sha256:".len() + 64, "{known}");
    let second = rule("B", "b");
    for other in [("b.toml", format!("{second}# why\n")), ("c.toml", second), ("b.toml", String::new())] {
        let changed = directory(&[files[0].clone(), other]);
        assert_ne!(hash(&from(changed.path())), known);
    }
    // A file that is no rule file does not count.
    fs::write(base.path().join("README.md"), "x").unwrap();
    assert_eq!(hash(&from(base.path())), known);
}

#[test]
fn an_override_counts_like_the_file_that_it_masks() {
    let base = directory(&[("a.toml", rule("A", "a")), ("b.toml", rule("B", "b"))]);
    let (same, other) = (directory(&[("b.toml", rule("B", "b"))]), directory(&[("b.toml", rule("Mine", "b"))]));
    let over = |folder: &tempfile::TempDir| LoadPlan { overrides: Some(folder.path().into()), ..from(base.path()) };
    assert_eq!(hash(&over(&same)), hash(&from(base.path())));
    assert_ne!(hash(&over(&other)), hash(&from(base.path())));
}

#[test]
fn the_built_in_rules_are_those_that_the_packages_install() {
    let installed: Vec<(&str, String)> = shipped::FILES.iter().map(|file| (file.name, file.text.to_owned())).collect();
    let skimmed = LoadPlan { prose: Prose::SkimShipped, ..LoadPlan::default() };
    assert_eq!(hash(&skimmed), hash(&from(directory(&installed).path())));
}

#[test]
fn files_of_other_kinds_count() {
    let (base, other) = (directory(&[("a.toml", rule("A", "a"))]), directory(&[("z.json", npd("Theirs", "Sick", ""))]));
    let xids = base.path().join("xids");
    fs::write(&xids, "[[xid]]\ncode = 63\ncondition = 'GpuUnhealthy'\naction = 'reset-gpu'\n").unwrap();
    let plans = [
        from(base.path()),
        LoadPlan { npd: vec![other.path().join("z.json")], ..from(base.path()) },
        LoadPlan { xids: Some(xids), ..from(base.path()) },
    ];
    let hashes: std::collections::BTreeSet<String> = plans.iter().map(hash).collect();
    assert_eq!(hashes.len(), plans.len());
    let by_folder = LoadPlan { monitors_dir: Some(other.path().into()), ..from(base.path()) };
    assert_eq!(hash(&by_folder), hash(&plans[1]), "by whichever key it is named");
}
