//! The table for people.

use std::io::{self, Write};

use crate::{Family, Score};

/// Families, those with misses first, then each row that is wrong or worth a look, and the sums.
pub fn print(score: &Score, out: &mut dyn Write) -> io::Result<()> {
    let mut families: Vec<_> = score.families.iter().collect();
    families.sort_by_key(|(name, family)| (family.right == family.of, *name));
    let width = families.iter().map(|(name, _)| name.len()).max().unwrap_or_default().max("FAMILY".len());
    writeln!(out, "{:width$}  RIGHT", "FAMILY")?;
    for (name, Family { right, of }) in families {
        writeln!(out, "{name:width$}  {right} of {of}")?;
    }
    writeln!(out)?;
    for (word, outcomes) in [("wrong", &score.wrong), ("as it may be", &score.notes)] {
        for outcome in outcomes {
            let raised = if outcome.raised.is_empty() { "nothing".to_owned() } else { outcome.raised.join(", ") };
            writeln!(out, "{word}: {} ({}): raised {raised}: {}", outcome.file, outcome.family, outcome.line)?;
        }
    }
    let sums = [
        ("node faults of the field", score.field),
        ("node faults of crash corpora", score.crashes),
        ("node faults under another reason than their label's", score.disputed),
        ("rows that may turn no condition", score.unturned),
        ("healthy logs that turned no condition", score.quiet),
        ("of those without a fault, nothing was raised of", score.silent),
    ];
    for (what, sum) in sums.iter().filter(|(_, sum)| sum.of > 0) {
        writeln!(out, "{what}: {} of {}, {:.1} %", sum.right, sum.of, sum.percent())?;
    }
    Ok(())
}
