//! A set of phrases, found in a row of tokens by the longest match.

use std::collections::HashMap;

use super::text::{Token, tokenize};

/// Phrases and what each stands for.
#[derive(Debug)]
pub(super) struct Phrases<T> {
    /// By the first word; the longest phrase first.
    by_first: HashMap<String, Vec<Phrase<T>>>,
}

#[derive(Debug)]
struct Phrase<T> {
    words: Vec<String>,
    means: Vec<T>,
}

/// A phrase found: how many tokens it takes and what it stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found<'a, T> {
    pub(super) len: usize,
    pub(super) means: &'a [T],
}

impl<T: Copy + PartialEq> Phrases<T> {
    pub(super) fn new() -> Self {
        Self { by_first: HashMap::new() }
    }

    /// Adds a phrase compared by English stems, or as written (in lower case)
    /// when `=` stands before it. A phrase may stand for several things.
    pub(super) fn insert(&mut self, phrase: &str, meaning: T) {
        let (exact, phrase) = match phrase.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (false, phrase),
        };
        let words = tokenize(phrase)
            .into_iter()
            .map(|t| if exact { exact_key(&t.lower) } else { t.stem })
            .collect();
        self.insert_words(words, meaning);
    }

    fn insert_words(&mut self, words: Vec<String>, meaning: T) {
        let Some(first) = words.first() else { return };
        let list = self.by_first.entry(first.clone()).or_default();
        if let Some(phrase) = list.iter_mut().find(|p| p.words == words) {
            if !phrase.means.contains(&meaning) {
                phrase.means.push(meaning);
            }
            return;
        }
        let at = list.partition_point(|p| p.words.len() >= words.len());
        list.insert(at, Phrase { words, means: vec![meaning] });
    }

    /// The longest phrase that starts at token `at`; an exact one before a
    /// stemmed one of the same length.
    pub(super) fn at(&self, tokens: &[Token], at: usize) -> Option<Found<'_, T>> {
        let first = tokens.get(at)?;
        let exact = self.longest(&exact_key(&first.lower), tokens, at);
        let stemmed = self.longest(&first.stem, tokens, at);
        match (exact, stemmed) {
            (Some(e), Some(s)) if s.len > e.len => Some(s),
            (Some(e), _) => Some(e),
            (None, s) => s,
        }
    }

    fn longest(&self, key: &str, tokens: &[Token], at: usize) -> Option<Found<'_, T>> {
        let phrase = self.by_first.get(key)?.iter().find(|phrase| {
            phrase.words.iter().enumerate().all(|(i, word)| {
                tokens.get(at + i).is_some_and(|token| match word.strip_prefix('=') {
                    Some(exact) if !exact.is_empty() => token.lower == exact,
                    _ => token.stem == *word,
                })
            })
        })?;
        Some(Found { len: phrase.words.len(), means: &phrase.means })
    }
}

fn exact_key(lower: &str) -> String {
    format!("={lower}")
}

/// The lines of a data file that hold something: no comments, no blanks.
pub(super) fn data_lines(data: &'static str) -> impl Iterator<Item = &'static str> {
    data.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The comma-separated items of one line.
pub(super) fn items(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_phrase_wins() {
        let mut phrases = Phrases::new();
        phrases.insert("remember", 1);
        phrases.insert("do you remember", 2);
        phrases.insert("天气", 3);
        let tokens = tokenize("Do you remember 天气");
        let found = phrases.at(&tokens, 0).unwrap();
        assert_eq!((found.len, found.means), (3, &[2][..]));
        assert_eq!(phrases.at(&tokens, 2).unwrap().means, [1]);
        assert_eq!(phrases.at(&tokens, 3).unwrap().means, [3]);
    }

    #[test]
    fn an_exact_phrase_does_not_match_another_form_of_the_word() {
        let mut phrases = Phrases::new();
        phrases.insert("=times", 1);
        assert!(phrases.at(&tokenize("time"), 0).is_none());
        assert!(phrases.at(&tokenize("times"), 0).is_some());
    }
}
