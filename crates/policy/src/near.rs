//! Which names are like a mistaken one.

/// The most names suggested.
pub const MOST: usize = 3;

/// The longest name that is compared, in characters; the cost grows with the square.
const COMPARED: usize = 160;

/// The names whose forms are most like `written`, best first. A name counts as like it if at
/// most a third of its letters (but two are always granted) differ, case aside.
pub fn most_like<'a, const N: usize>(
    written: &str,
    names: impl Iterator<Item = (&'a str, [&'a str; N])>,
) -> Vec<String> {
    let written = letters(written);
    let allowed = (written.len() / 3).max(2);
    let mut near: Vec<(usize, &str)> = names
        .filter_map(|(name, forms)| {
            let least = forms.iter().map(|form| distance(&written, &letters(form))).min()?;
            (least <= allowed).then_some((least, name))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().take(MOST).map(|(_, name)| name.to_owned()).collect()
}

fn letters(name: &str) -> Vec<char> {
    name.chars().take(COMPARED).flat_map(char::to_lowercase).collect()
}

/// The Levenshtein distance: how many letters to insert, delete or change.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> usize {
        distance(&letters(a), &letters(b))
    }

    #[test]
    fn distances_are_edits() {
        assert_eq!(between("kitten", "sitting"), 3);
        assert_eq!(between("", "abc"), 3);
        assert_eq!(between("abc", ""), 3);
        assert_eq!(between("Same", "same"), 0);
    }

    #[test]
    fn the_best_come_first_and_strangers_not_at_all() {
        let names = ["a__search", "a__serch", "b__delete", "a__research", "a__sear"];
        let like = most_like("a__search", names.iter().map(|&name| (name, [name])));
        assert_eq!(like, ["a__search", "a__serch", "a__research"]);
        let like = most_like("zzz", names.iter().map(|&name| (name, [name])));
        assert!(like.is_empty());
    }
}
