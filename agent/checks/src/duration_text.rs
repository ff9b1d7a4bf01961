//! A duration as text, for the messages of several checks.

use std::time::Duration;

/// Whole, in the largest unit that shows it exactly: `15 min`, `90 s`, `100 ms`.
pub(crate) fn duration(duration: Duration) -> String {
    let (secs, millis) = (duration.as_secs(), duration.as_millis());
    match secs {
        _ if !millis.is_multiple_of(1000) => format!("{millis} ms"),
        secs if secs == 0 || !secs.is_multiple_of(60) => format!("{secs} s"),
        secs if !secs.is_multiple_of(3_600) => format!("{} min", secs / 60),
        secs if !secs.is_multiple_of(86_400) => format!("{} h", secs / 3_600),
        secs => format!("{} d", secs / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_exactly() {
        for (millis, shown) in [
            (0, "0 s"),
            (100, "100 ms"),
            (1500, "1500 ms"),
            (90_000, "90 s"),
            (900_000, "15 min"),
            (7_200_000, "2 h"),
            (86_400_000, "1 d"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), shown);
        }
    }
}
