//! What is wrong in a line of node-reaper's YAML that does not fit its key, and what to write.

use nodewell_remediation::method::suggestions::distance;

use super::keys::KEYS;

const TRUTHS: [&str; 5] = ["drainForceRetryOnError", "useEviction", "skipReaping", "dryRun", "reapEvenIfDrainFailed"];
const SECONDS: [&str; 3] = ["newNodeGracePeriodSeconds", "drainTimeoutSeconds", "podDeletionGracePeriodSeconds"];
/// Letters that may be wrong.
const MAX_SLIPS: usize = 3;

/// `problem` is the parser's own; where the line shows more, that is added.
pub(super) fn explained(text: &str, line: u64, problem: &str) -> String {
    let line = usize::try_from(line).ok().and_then(|line| text.lines().nth(line.checked_sub(1)?));
    let Some((key, value)) = line.and_then(|line| line.split_once(':')) else { return problem.to_owned() };
    let (key, value) = (key.trim().trim_matches(['"', '\'']), value.split(" #").next().unwrap_or(value).trim());
    if problem.contains("duplicate") {
        return format!("{key} is given twice; keep one of them");
    }
    if TRUTHS.contains(&key) {
        return format!("{key} takes true or false, without quotes; not {value}");
    }
    if SECONDS.contains(&key) {
        return format!("{key} takes a whole number of seconds, such as 300; not {value}");
    }
    if KEYS.contains(&key) {
        return format!("{key}: {problem}");
    }
    let meant = KEYS.into_iter().min_by_key(|known| distance(&key.to_lowercase(), &known.to_lowercase()));
    match meant.filter(|known| distance(&key.to_lowercase(), &known.to_lowercase()) <= MAX_SLIPS) {
        Some(meant) => format!("there is no key {key}; is {meant} meant?"),
        None => format!("there is no key {key}; there are {}", KEYS.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;

    fn refused(text: &str) -> (u64, String) {
        let diagnostics = read(text).unwrap_err();
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        (diagnostics[0].line, diagnostics[0].problem.clone())
    }

    #[test]
    fn a_mistake_names_its_line_its_key_and_what_to_write() {
        for (line, expected) in [
            ("useEviction: \"yes\"", "useEviction takes true or false, without quotes; not \"yes\""),
            ("useEviction: 1", "useEviction takes true or false, without quotes; not 1"),
            ("dryRun: 'true' # or not", "dryRun takes true or false, without quotes; not 'true'"),
            ("drainTimeoutSeconds: 5m", "drainTimeoutSeconds takes a whole number of seconds, such as 300; not 5m"),
            ("drainTimeoutSeconds: -5", "takes a whole number of seconds"),
            ("maxNodeUnhealthy: 1", "there is no key maxNodeUnhealthy; is maxNodesUnhealthy meant?"),
            ("colour: 1", "there is no key colour; there are reapPredicate, "),
            ("compat: loose", "compat: \"loose\" is neither strict nor fixed"),
        ] {
            let (at, problem) = refused(&format!("# node-reaper\nskipReaping: true\n{line}\n"));
            assert!(at == 3 && problem.contains(expected), "{line}: {at}: {problem}");
        }
        let (at, problem) = refused("dryRun: true\ndryRun: false\n");
        assert!(at > 0 && problem == "dryRun is given twice; keep one of them", "{at}: {problem}");
    }
}
