//! Logs as machines write them: the healthy boots that the repository holds, and those of a folder that it does not.

use std::{
    env, fs,
    hint::black_box,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use nodewell_rules::{Format, Replay, RuleSet};

use super::{LINES, NPD, TARGET_OF_HITS_MEGA_LINES, matcher, memchr_pass, replayed, speed, timed};
use crate::{corpus::Corpus, table::Row};

/// A folder as `make field` takes it: `expect.tsv` and maybe `quiet/*.log`; records of whole boots may be there, too,
/// as `*.kmsg`.
const VARIABLE: &str = "FIELD_CAPTURES";
const TARGET_MEGA_LINES: f64 = 8.0;

const BOOTS: [&[u8]; 2] = [
    include_bytes!("../../../agent/rules/tests/captures/boot-5.10.kmsg"),
    include_bytes!("../../../agent/rules/tests/captures/boot-6.1.kmsg"),
];

pub(super) fn rows(set: &Arc<RuleSet>, rounds: usize) -> Vec<Row> {
    let mut rows = of_log("the repository's boots", set, Format::Kmsg, &boots(), rounds);
    rows.extend(of_others(set, rounds));
    rows
}

/// Two whole boots, as raw records.
pub(super) fn boots() -> Vec<u8> {
    BOOTS.concat()
}

fn of_log(name: &str, set: &Arc<RuleSet>, format: Format, log: &[u8], rounds: usize) -> Vec<Row> {
    let corpus = Corpus::repeated(log, LINES);
    let bytes = corpus.bytes.len() / corpus.lines;
    let matcher = matcher(set);
    let scan = timed(rounds, || matcher.count_candidates(black_box(&corpus.bytes)));
    let replay = replayed(format!("replay in memory, {name}"), set, format, &corpus, rounds);
    vec![
        memchr_pass(format!("one memchr pass over {name}, {bytes} bytes a line"), &corpus, rounds),
        speed(format!("the scan alone over {name}"), &corpus, &scan),
        replay.at_least(TARGET_MEGA_LINES).npd(NPD),
    ]
}

fn of_others(set: &Arc<RuleSet>, rounds: usize) -> Vec<Row> {
    let (boots, hits) = ("replay in memory, boots of others", "replay in memory, nothing but faults of others");
    let Some(folder) = env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
        return [boots, hits].map(|measure| Row::skipped(measure, format!("{VARIABLE} names no folder"))).to_vec();
    };
    let mut rows = Vec::new();
    for (name, format, folder, extension) in [
        ("boots of others", Format::Kmsg, folder.clone(), "kmsg"),
        ("healthy logs of others", Format::Auto, folder.join("quiet"), "log"),
    ] {
        match logs(&folder, extension) {
            Ok(log) if log.is_empty() => {
                let missing = format!("no *.{extension} is in {}", folder.display());
                rows.push(Row::skipped(format!("replay in memory, {name}"), missing));
            }
            Ok(log) => rows.extend(of_log(name, set, format, &log, rounds)),
            Err(error) => rows.push(Row::not_run(format!("replay in memory, {name}"), error.to_string())),
        }
    }
    rows.push(of_faults(hits, set, &folder.join("expect.tsv"), rounds));
    rows
}

/// All files of the folder with this extension, one behind the other, by name. Without the folder there are none.
fn logs(folder: &Path, extension: &str) -> io::Result<Vec<u8>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        all.extend(fs::read(path)?);
        if all.last().is_some_and(|byte| *byte != b'\n') {
            all.push(b'\n');
        }
    }
    Ok(all)
}

/// The first line of every fault of the table that the rules find by that line alone.
fn of_faults(measure: &str, set: &Arc<RuleSet>, table: &Path, rounds: usize) -> Row {
    let table = match fs::read_to_string(table) {
        Ok(table) => table,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Row::skipped(measure, format!("{} is not there", table.display()));
        }
        Err(error) => return Row::not_run(measure, format!("cannot read {}: {error}", table.display())),
    };
    let texts = found(set, &faults(&table));
    if texts.is_empty() {
        return Row::skipped(measure, "the rules find no line of the table by itself");
    }
    let corpus = Corpus::of_texts(&texts, LINES);
    replayed(measure, set, Format::Kmsg, &corpus, rounds).at_least(TARGET_OF_HITS_MEGA_LINES).npd(NPD)
}

/// The lines of the rows whose verdict is a fault of the node.
fn faults(table: &str) -> Vec<String> {
    let rows = table.lines().map(|row| row.split('\t').collect::<Vec<_>>());
    rows.filter_map(|cells| (*cells.get(3)? == "node").then(|| cells[1].to_owned())).collect()
}

/// Those of `texts` in which something is found.
fn found(set: &Arc<RuleSet>, texts: &[String]) -> Vec<String> {
    let log = Corpus::of_texts(texts, texts.len());
    let mut lines = Vec::new();
    let replay = Replay::new(Arc::clone(set), Format::Kmsg);
    replay.run(&log.bytes[..], |finding| lines.push(finding.line)).expect("memory can be read");
    (1..).zip(texts).filter(|(line, _)| lines.contains(line)).map(|(_, text)| text.clone()).collect()
}

#[cfg(test)]
mod tests {
    use nodewell_rules::{LoadPlan, load};

    use super::*;

    #[test]
    fn only_faults_that_are_found_are_hits() {
        let set = Arc::new(load(&LoadPlan::default()).set);
        let table = "#file\tline\n\
                     a.log\tKernel panic - not syncing: Fatal exception\tpanic\tnode\tkind\t.*\turl\n\
                     b.log\teth0: link becomes ready\tquiet\tnode\tkind\t.*\turl\n\
                     c.log\tKernel panic - not syncing: Fatal\tpanic\tinfo\tkind\tnone\turl\n";
        assert_eq!(faults(table), ["Kernel panic - not syncing: Fatal exception", "eth0: link becomes ready"]);
        assert_eq!(found(&set, &faults(table)), ["Kernel panic - not syncing: Fatal exception"]);
        assert!(found(&set, &[]).is_empty());
    }

    #[test]
    fn logs_of_a_folder_are_one_behind_the_other() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("b.kmsg", "b\n"), ("a.kmsg", "a"), ("c.txt", "c")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(logs(folder.path(), "kmsg").unwrap(), b"a\nb\n");
        assert_eq!(logs(&folder.path().join("quiet"), "log").unwrap(), b"");
    }
}
