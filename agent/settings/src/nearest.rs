//! "Did you mean": the known word that an unknown one was meant to be.

/// The longest word compared; longer ones are no typing errors.
const WORD_LIMIT_BYTES: usize = 64;
/// Candidates that are looked at: a hostile file may declare many thousands.
const CANDIDATES_LIMIT: usize = 2_000;

/// The candidate nearest to `word`, if it is near enough to be a slip of the fingers.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > WORD_LIMIT_BYTES {
        return None;
    }
    let wanted = normal(word);
    let slips = (wanted.len() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .take(CANDIDATES_LIMIT)
        .filter(|candidate| candidate.len() <= WORD_LIMIT_BYTES)
        .map(|candidate| (distance(&wanted, &normal(candidate)), candidate))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean "…"?`, or nothing.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map(|found| format!("; did you mean {found:?}?")).unwrap_or_default()
}

/// Case, dashes and underscores are what people mix up most.
fn normal(word: &str) -> Vec<u8> {
    word.bytes().filter(|b| !matches!(b, b'-' | b'_')).map(|b| b.to_ascii_lowercase()).collect()
}

/// How many bytes must be put in, left out, replaced or swapped with their neighbour.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 { i + j } else { step(&rows, (a, i), (b, j)) };
        }
    }
    rows[a.len()][b.len()]
}

fn step(rows: &[Vec<usize>], (a, i): (&[u8], usize), (b, j): (&[u8], usize)) -> usize {
    let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
    let best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
    let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
    if swapped { best.min(rows[i - 2][j - 2] + 1) } else { best }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["reason", "pattern", "healthy-reason", "type"];
        for (word, found) in [
            ("resaon", Some("reason")),
            ("patern", Some("pattern")),
            ("healthyReason", Some("healthy-reason")),
            ("healthy_reasn", Some("healthy-reason")),
            ("tpye", Some("type")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
        assert_eq!(nearest(&"r".repeat(100_000), known), None);
    }
}
