use super::*;

const MYSQL: Server = Server::MySql(90_704);
const MARIADB: Server = Server::MariaDb(101_118);

#[test]
fn lists_are_sorted_and_nothing_is_twice() {
    let mut all: Vec<&str> = Vec::new();
    for (_, _, words) in own::LISTS {
        assert!(words.is_sorted(), "{words:?}");
        all.extend(words);
    }
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
    assert!(all.iter().all(|word| *word == word.to_ascii_lowercase()));
    for list in [&free::FUNCTIONS[..], &free::KEYWORDS, &SINCE_8, &ALSO_IN_5, &UNTIL_9, &UNTIL_5] {
        assert!(list.is_sorted(), "{list:?}");
    }
}

#[test]
fn every_word_is_found() {
    for (mysql, mariadb, words) in own::LISTS {
        for word in words {
            let known = look_up(word.to_ascii_uppercase().as_bytes()).unwrap_or_else(|| panic!("{word}"));
            assert_eq!((known.own(MYSQL), known.own(MARIADB)), (mysql, mariadb), "{word}");
        }
    }
    for word in ["", "wf", "slee", "sleepy", "sleep\0", "a_name_that_is_longer_than_any_function_of_any_server_is"] {
        assert_eq!(look_up(word.as_bytes()), None, "{word}");
    }
}

#[test]
fn spellings_and_versions() {
    let own = |word: &str, server| look_up(word.as_bytes()).map_or(Own::No, |known| known.own(server));
    for (word, server, expected) in [
        ("ABS", MYSQL, Own::Always),
        ("Now", MYSQL, Own::Adjacent),
        ("database", MYSQL, Own::Unquoted),
        ("database", MARIADB, Own::Always),
        ("database", Server::Unknown, Own::Unquoted),
        ("nvl", MYSQL, Own::No),
        ("nvl", MARIADB, Own::Always),
        ("nvl", Server::Unknown, Own::No),
        // A keyword of MySQL is no function's name there; MariaDB takes it for one.
        ("action", MYSQL, Own::Unquoted),
        ("action", MARIADB, Own::No),
        ("md5", MYSQL, Own::No),
        ("md5", Server::MySql(90_500), Own::Always),
        ("md5", Server::MySql(80_036), Own::Always),
        ("rank", Server::MySql(80_000), Own::Unquoted),
        ("rank", Server::MySql(50_744), Own::No),
        ("any_value", Server::MySql(50_744), Own::Always),
        ("bin_to_uuid", Server::MySql(50_744), Own::No),
        ("encrypt", Server::MySql(50_744), Own::Always),
        ("encrypt", Server::MySql(80_000), Own::No),
        ("sum", Server::MySql(50_744), Own::Adjacent),
    ] {
        assert_eq!(own(word, server), expected, "{word} in {server:?}");
    }
}

#[test]
fn what_is_free_does_no_work() {
    for word in free::FUNCTIONS.iter().chain(&free::KEYWORDS) {
        assert!(look_up(word.as_bytes()).is_some_and(Known::is_free), "{word}");
    }
    for word in [
        "aes_encrypt",
        "benchmark",
        "binary",
        "compress",
        "export_set",
        "get_lock",
        "insert",
        "lpad",
        "load_file",
        "make_set",
        "master_gtid_wait",
        "master_pos_wait",
        "random_bytes",
        "regexp_like",
        "repeat",
        "rpad",
        "sha2",
        "sleep",
        "source_pos_wait",
        "space",
        "uncompress",
        "varbinary",
        "wait_for_executed_gtid_set",
        "weight_string",
        "wsrep_sync_wait_upto_gtid",
        "from",
        "table",
        "like",
        "regexp",
        "rlike",
        "nextval",
        "setval",
    ] {
        assert!(!look_up(word.as_bytes()).is_none_or(Known::is_free), "{word}");
    }
}
