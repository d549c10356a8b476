use super::*;
use regex::bytes::RegexBuilder;

fn scanned(text: &[u8], query: &str, most: usize) -> (Matches, Budget) {
    let regex = RegexBuilder::new(&regex::escape(query)).case_insensitive(true).build().unwrap();
    let mut budget = Budget { bytes: 1 << 30, lines: 1000 };
    let matches = scan(text, &regex, most, &mut budget, &AtomicBool::new(false)).unwrap();
    (matches, budget)
}

fn numbers(matches: &Matches) -> Vec<u64> {
    matches.lines.iter().map(|found| found.line).collect()
}

#[test]
fn lines_are_counted_across_pieces() {
    let mut text = String::new();
    let mut wanted = Vec::new();
    for line in 1..=60_000_u64 {
        if line % 7919 == 0 {
            wanted.push(line);
            text.push_str("a needle and a needle\n");
        } else {
            text.push_str("some hay in a line\n");
        }
    }
    assert!(text.len() > 4 * PIECE);
    let (found, budget) = scanned(text.as_bytes(), "NEEDLE", 100);
    assert_eq!(numbers(&found), wanted);
    assert_eq!(budget.bytes, (1 << 30) - text.len() as u64);
    assert_eq!(budget.lines, 1000 - wanted.len());
}

#[test]
fn a_match_on_the_border_of_two_pieces_is_found_once() {
    for shift in 0..12 {
        let mut text = "x".repeat(PIECE - shift);
        text.push_str("needle");
        text.push_str(&"y".repeat(PIECE));
        text.push_str("\nneedle");
        let (found, _) = scanned(text.as_bytes(), "needle", 10);
        assert_eq!(numbers(&found), [1, 2], "{shift}");
        assert_eq!(found.more, 0);
    }
}

#[test]
fn more_matches_than_are_shown_are_counted() {
    let (found, _) = scanned("hit\n".repeat(30).as_bytes(), "hit", 4);
    assert_eq!((numbers(&found), found.more), (vec![1, 2, 3, 4], 26));
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let line = format!("{}needle{}", "字".repeat(1000), "語".repeat(1000));
    let (found, _) = scanned(line.as_bytes(), "needle", 1);
    let text = &found.lines[0].text;
    assert!(text.starts_with("…字") && text.ends_with("語…"), "{text}");
    assert!(text.contains("needle") && !text.contains('\u{fffd}'), "{text}");
    assert!(text.len() < 300);
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let mut bytes = vec![0x80; 5000];
    bytes.extend(b"needle");
    bytes.extend(vec![0x80; 5000]);
    let (found, _) = scanned(&bytes, "needle", 1);
    assert!(found.lines[0].text.len() < 2000);
    let (found, _) = scanned(b"needle\0", "needle", 1);
    assert!(found.binary && found.lines.is_empty());
    let (found, _) = scanned(b"", "needle", 1);
    assert!(!found.binary && found.lines.is_empty());
}

#[test]
fn a_budget_that_runs_out_ends_the_scan() {
    let regex = Regex::new("hit").unwrap();
    let mut budget = Budget { bytes: 10, lines: 100 };
    let text = "hit\n".repeat(100);
    let found = scan(text.as_bytes(), &regex, 100, &mut budget, &AtomicBool::new(false)).unwrap();
    assert_eq!((found.lines.len(), budget.bytes), (2, 0));
}
