//! What the author of a misspelt option may have meant: all that an agent has would be too long.

/// Letters that may be wrong.
const MAX_SLIPS: usize = 2;
const MAX_SUGGESTIONS: usize = 3;

/// The names most like `wrong`, or the command that shows all.
pub(super) fn names<'a>(wrong: &str, known: impl Iterator<Item = &'a str>, agent: &str) -> String {
    let part = |name: &str| wrong.len().min(name.len()) > MAX_SLIPS && (name.contains(wrong) || wrong.contains(name));
    let mut near: Vec<(usize, &str)> = known.map(|name| (distance(wrong, name), name)).collect();
    near.retain(|(slips, name)| *slips <= MAX_SLIPS || part(name));
    near.sort_unstable();
    let near: Vec<&str> = near.into_iter().map(|(_, name)| name).take(MAX_SUGGESTIONS).collect();
    if near.is_empty() {
        format!("`{agent} -o metadata` has them all")
    } else {
        format!("is it {}?", near.join(" or "))
    }
}

/// Letters to be put in, taken out or replaced.
#[must_use]
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], line + 1);
        for (column, against) in other.iter().enumerate() {
            let replaced = corner + usize::from(letter != *against);
            corner = row[column + 1];
            row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_told_with_what_was_meant() {
        let known = || ["ip", "ipport", "lanplus", "password", "password_script", "plug"].into_iter();
        let hint = |wrong: &str| names(wrong, known(), "fence_ipmilan");
        assert_eq!(hint("lanpluss"), "is it lanplus?");
        assert_eq!(hint("pasword"), "is it password?");
        assert_eq!(hint("script"), "is it password_script?");
        assert_eq!(hint("colour"), "`fence_ipmilan -o metadata` has them all");
    }

    #[test]
    fn distances_are_those_of_letters() {
        for (one, other, slips) in [("", "ab", 2), ("plug", "plug", 0), ("plug", "plgu", 2), ("kitten", "sitting", 3)] {
            assert_eq!((distance(one, other), distance(other, one)), (slips, slips), "{one} {other}");
        }
    }
}
