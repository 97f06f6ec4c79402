use super::*;
use crate::{Charset, Extent, Server};

mod classes;
mod comments;
mod names;
mod properties;
mod readings;

const MYSQL: Mode = Mode {
    no_backslash_escapes: false,
    ansi_quotes: false,
    brackets: false,
    server: Server::MySql(90_704),
    extent: Extent::Whole,
    charset: Charset::Plain,
};
const MARIADB: Mode = Mode { server: Server::MariaDb(101_118), ..MYSQL };

/// The scan in words: the class, then what else there is to say.
fn shown(scan: &Scan) -> String {
    let mut words = vec![scan.class.to_string()];
    let mut add = |when: bool, word: &str| words.extend(when.then(|| word.to_owned()));
    add(scan.free, "free");
    add(scan.transaction == TransactionEffect::Begins, "begins");
    add(scan.transaction == TransactionEffect::Ends, "ends");
    add(scan.commits_implicitly, "commits");
    add(scan.crosses_boundary, "crosses");
    add(scan.takes_lock, "lock");
    add(scan.doubts.contains(Doubts::FUNCTIONS), "doubt");
    for (name, shape) in Shapes::NAMES {
        add(scan.shapes.contains(shape) && !scan.doubts.contains(Doubts::UNSEEN), name);
    }
    words.join(" ")
}

#[track_caller]
fn check(mode: Mode, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (sql, expected) in cases {
        let found = shown(&scan(sql.as_bytes(), mode));
        if found != *expected {
            wrong.push(format!("{sql}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
