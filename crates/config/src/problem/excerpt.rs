//! The line of the file that is shown, with the caret's place in it, and without passwords.

use crate::locate::Place;

/// Longer lines are cut around the caret.
const WIDTH: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) line: String,
    /// What stands before the caret: spaces, and tabs where the line has them.
    pub(super) indent: String,
}

impl Excerpt {
    pub(super) fn of(text: &str, place: Place) -> Self {
        let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or("");
        let caret = place.column.saturating_sub(1);
        let (line, caret) = mask(line, caret);
        let from = if line.len() > WIDTH { caret.saturating_sub(WIDTH / 2) } else { 0 };
        let shown = line.iter().skip(from).take(WIDTH).map(|c| if c.is_control() && *c != '\t' { ' ' } else { *c });
        let before = line.iter().skip(from).take(caret - from);
        let mut indent: String = before.map(|c| if *c == '\t' { '\t' } else { ' ' }).collect();
        // A caret may stand behind the end of the line.
        indent.extend(std::iter::repeat_n(' ', caret.saturating_sub(line.len().max(from))));
        Excerpt { line: shown.collect(), indent }
    }
}

/// Errors go to logs, and a password may stand in the very line that is wrong. Whatever follows a key that looks like
/// one for a secret is hidden, unless it only says where the secret is. Gives the line and where its caret is now.
fn mask(line: &str, caret: usize) -> (Vec<char>, usize) {
    let chars: Vec<char> = line.chars().collect();
    let mut shown = Vec::with_capacity(chars.len());
    let mut moved = caret;
    let mut word = String::new();
    let mut position = 0;
    while let Some(&c) = chars.get(position) {
        shown.push(c);
        position += 1;
        if c != ':' {
            // A comment's `#` and a quote around a key are no part of the word.
            let part = c.is_alphanumeric() || c == '_' || c == '-';
            if part {
                word.extend(c.to_lowercase());
            } else if !c.is_whitespace() && c != '"' && c != '\'' {
                word.clear();
            }
            continue;
        }
        if !secret(&std::mem::take(&mut word)) {
            continue;
        }
        while let Some(&space) = chars.get(position).filter(|c| c.is_whitespace()) {
            shown.push(space);
            position += 1;
        }
        let end = value_end(&chars, position);
        let value: String = chars[position..end].iter().collect();
        let bare = value.trim_start_matches(['"', '\'']);
        if value.is_empty() || bare.starts_with("env:") || bare.starts_with("file:") {
            continue;
        }
        let start = shown.len();
        shown.extend("***".chars());
        moved = match caret {
            before if before <= position => moved,
            inside if inside < end => start,
            _ => (moved + shown.len()).saturating_sub(start + (end - position)),
        };
        position = end;
    }
    (shown, moved)
}

fn secret(key: &str) -> bool {
    ["pas", "pw", "secret", "token", "psw"].iter().any(|part| key.contains(part))
}

/// Where the value that begins at `start` ends: at its closing quote, else with the line or, in braces, at a `,` or `}`.
fn value_end(chars: &[char], start: usize) -> usize {
    let rest = &chars[start.min(chars.len())..];
    let length = match rest.first() {
        Some(quote @ ('"' | '\'')) => rest.iter().skip(1).position(|c| c == quote).map(|found| found + 2),
        _ if chars[..start.min(chars.len())].contains(&'{') => {
            let end = rest.iter().position(|c| matches!(c, ',' | '}'));
            end.map(|end| rest[..end].iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1))
        }
        _ => None,
    };
    start + length.unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::{Excerpt, mask};
    use crate::locate::Place;

    #[test]
    fn passwords_are_hidden_and_the_caret_stays_on_its_word() {
        for (line, caret, expected, moved) in [
            ("  password: hunter2", 12, "  password: ***", 12),
            ("  pasword: \"hunter2\"", 2, "  pasword: ***", 2),
            ("{ password: hunter2, usr: x }", 21, "{ password: ***, usr: x }", 17),
            ("{ password: 'a, b}', usr: x }", 21, "{ password: ***, usr: x }", 17),
            ("{ \"password\": x, usr: x }", 17, "{ \"password\": ***, usr: x }", 19),
            ("  password: env:NAME", 12, "  password: env:NAME", 12),
            ("  password: \"file:a\"", 12, "  password: \"file:a\"", 12),
            ("  password: hunter2", 15, "  password: ***", 12),
            ("  password: \"open", 12, "  password: ***", 12),
            ("  address: db:3306", 11, "  address: db:3306", 11),
            ("password:", 0, "password:", 0),
            ("", 0, "", 0),
        ] {
            let (shown, caret) = mask(line, caret);
            assert_eq!((shown.iter().collect::<String>().as_str(), caret), (expected, moved), "{line}");
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let text = format!("key: {}X{}", "a".repeat(500), "b".repeat(500));
        let excerpt = Excerpt::of(&text, Place { line: 1, column: 506 });
        assert_eq!(excerpt.line.len(), 120);
        assert_eq!(excerpt.line.chars().nth(excerpt.indent.len()), Some('X'));
    }

    #[test]
    fn no_place_makes_it_panic() {
        for text in ["", "\n", "a: b", "password: é", "\t\u{1b}[31mx: y"] {
            for line in 0..4 {
                for column in 0..200 {
                    Excerpt::of(text, Place { line, column });
                }
            }
        }
    }
}
