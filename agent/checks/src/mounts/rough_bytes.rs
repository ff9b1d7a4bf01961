//! Byte counts for people that stay the same for a while: a message that changes with every reading counts as new each
//! time.

/// `about 5 GiB`, to 1, 2 or 5 and downwards.
pub(super) fn rough_bytes(bytes: u64) -> String {
    for (unit, name) in [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit {
            return format!("about {} {name}", rough(bytes / unit));
        }
    }
    if bytes == 0 { "nothing".to_owned() } else { "less than 1 KiB".to_owned() }
}

fn rough(count: u64) -> u64 {
    let scale = 10_u64.pow(count.max(1).ilog10());
    scale
        * match count / scale {
            0 | 1 => 1,
            2..=4 => 2,
            _ => 5,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rough() {
        for (bytes, words) in [
            (0, "nothing"),
            (7, "less than 1 KiB"),
            (1 << 10, "about 1 KiB"),
            (700 << 20, "about 500 MiB"),
            ((9 << 30) + 5, "about 5 GiB"),
            (u64::MAX, "about 10000000 TiB"),
        ] {
            assert_eq!(rough_bytes(bytes), words);
        }
    }
}
