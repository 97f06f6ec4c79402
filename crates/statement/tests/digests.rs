//! What MySQL prints as a statement's DIGEST_TEXT has the statement's fingerprint: `digests.tsv` has statements and what
//! STATEMENT_DIGEST_TEXT made of them on MySQL 9.7.4. Two kinds of text are known to fail, because the digest does not say enough:
//! names with a backtick in them, and `$$ … $$`.

use statement::{Mode, Server, fingerprint, normalize};

const PAIRS: &str = include_str!("digests.tsv");

#[test]
fn digests_have_the_fingerprint_of_their_statement() {
    let mode = Mode { server: Server::MySql(90_704), ..Mode::default() };
    let mut count = 0;
    for (sql, digest) in PAIRS.lines().filter_map(|line| line.split_once('\t')) {
        let expected = fingerprint(sql.as_bytes(), mode);
        let normal = normalize(sql.as_bytes(), mode, 10_000);
        assert_eq!(fingerprint(digest.as_bytes(), mode), expected, "{sql}\n{digest}\n{normal}");
        assert_eq!(fingerprint(normal.as_bytes(), mode), expected, "{sql}\n{normal}");
        assert_eq!(normalize(normal.as_bytes(), mode, 10_000), normal, "{sql}");
        count += 1;
    }
    assert!(count > 450, "{count}");
}
