//! Did you mean …?

/// The candidate that `word` most likely is a slip of, if one is near enough to be worth saying.
pub(crate) fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    let far = (word.chars().count() / 3).clamp(1, 3);
    let mut longer = candidates.iter().filter(|candidate| extends(candidate, &word) || extends(&word, candidate));
    if let (Some(found), None) = (longer.next(), longer.next()) {
        return Some(found);
    }
    let distances = candidates.iter().map(|candidate| (distance(&word, candidate), *candidate));
    distances.filter(|(distance, _)| *distance <= far).min_by_key(|(distance, _)| *distance).map(|(_, found)| found)
}

/// `warning` for `warn`, `proxy_protocol` for `proxy_protocol_from`.
fn extends(long: &str, short: &str) -> bool {
    short.len() >= 4 && long.starts_with(short)
}

/// Levenshtein's distance with swapped neighbours counted once, since that is how fingers slip.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn a_slip_is_found_and_a_stranger_is_not() {
        let keys = ["address", "tls", "ca", "certificate", "dial_timeout", "verify_ca"];
        for (word, expected) in [
            ("addres", Some("address")),
            ("adderss", Some("address")),
            ("Address", Some("address")),
            ("dial-timeout", Some("dial_timeout")),
            ("tsl", Some("tls")),
            ("VERIFY_CA", Some("verify_ca")),
            ("cetrificat", Some("certificate")),
            ("certificates", Some("certificate")),
            ("dial", Some("dial_timeout")),
            ("password", None),
            ("", None),
        ] {
            assert_eq!(closest(word, &keys), expected, "{word}");
        }
    }
}
