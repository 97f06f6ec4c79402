//! What real libraries and tools send, as their sources write it, and what nobody should.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::limits;

/// `a=1 b=2 tool:gh-ost`, in the order in which they were read.
fn told(said: &Said<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut told: Vec<String> = said.tags().map(|(key, value)| format!("{}={}", text(&key), text(&value))).collect();
    told.extend(said.tool().map(|tool| format!("tool:{}", text(tool))));
    told.join(" ")
}

fn check_trailing(comment: &str, expected: &str) {
    assert_eq!(told(&read_comments(b"", comment.as_bytes(), None)), expected, "{comment}");
    // Many can be told to write at the front.
    assert_eq!(told(&read_comments(comment.as_bytes(), b"", None)), expected, "{comment} in front");
    let kept = read_comments(b"", comment.as_bytes(), None).to_owned();
    assert_eq!(told(&kept.said()), expected, "{comment} kept");
}

#[test]
fn libraries() {
    for (comment, expected) in [
        // The specification's example.
        (
            " /*action='%2Fparam*d',controller='index',framework='spring',\
             traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01',\
             tracestate='congo%3Dt61rcWkgMzE%2Crojo%3D00f067aa0ba902b7'*/",
            "action=/param*d controller=index framework=spring",
        ),
        (" /*name='DROP%20TABLE%20FOO\\''*/", "name=DROP TABLE FOO'"),
        // Django, through a cursor that formats, and through one that does not.
        (
            " /*controller='index',framework='django%3A2.2.1',route='%5Epolls/%24'*/;",
            "controller=index framework=django:2.2.1 route=^polls/$",
        ),
        (
            " /*controller='app_urls%%3Aapp-path',framework='django%%3A4.2',route='%%5Epolls/%%24'*/",
            "controller=app_urls:app-path framework=django:4.2 route=^polls/$",
        ),
        // SQLAlchemy and OpenTelemetry for Python: numbers have no quotes.
        (
            " /*db_driver='mysqlclient%%3A2.2.8',dbapi_level='2.0',dbapi_threadsafety=1,driver_paramstyle='format'*/",
            "db_driver=mysqlclient:2.2.8 dbapi_level=2.0 dbapi_threadsafety=1 driver_paramstyle=format",
        ),
        // Java, as its README wraps it: spaces are pluses.
        (
            " /*action='run+this+%26+that',\ncontroller='foo%3BDROP+TABLE+BAR',\nframework='spring'*/",
            "action=run this & that controller=foo;DROP TABLE BAR framework=spring",
        ),
        // Go: database/sql with gorilla/mux, baggage and all.
        (
            "/*action='main.listTodos',application='todo+app',db_driver='database%2Fsql%3A',\
             framework='gorilla%2Fmux',route='%2Ftodos%2F%7Bid%7D'*/",
            "action=main.listTodos application=todo app db_driver=database/sql: framework=gorilla/mux route=/todos/{id}",
        ),
        // Laravel: urlencode, and doubled percent signs.
        (
            "/*framework='laravel-9.7.0',controller='User+Controller',url='%%2Fapi%%2Ftest'*/",
            "framework=laravel-9.7.0 controller=User Controller url=/api/test",
        ),
        // Sequelize and Knex: encodeURIComponent leaves quotes and stars.
        (
            " /*client_timezone='%2B00%3A00',db_driver='sequelize%3A6.3.3',route='%2F',\
             traceparent='00-3e2914ebce6af09508dd1ff1128493a8-81d09ab4d8cde7cf-01'*/",
            "client_timezone=+00:00 db_driver=sequelize:6.3.3 route=/",
        ),
        ("/*who='it's a *star*',x='1'*/", "who=it's a *star* x=1"),
        ("/*who='it''*/", "who=it'"),
        // Rails since 7.1, and Google's gem for older ones.
        (
            " /*action='index',application='Dummy',controller='users',namespaced_controller='Api%3A%3AUsersController'*/",
            "action=index application=Dummy controller=users namespaced_controller=Api::UsersController",
        ),
        (
            "/*application='SqlcommenterRailsDemo',db_driver='ActiveRecord::ConnectionAdapters::Mysql2Adapter'*/",
            "application=SqlcommenterRailsDemo db_driver=ActiveRecord::ConnectionAdapters::Mysql2Adapter",
        ),
        // Rails' legacy format and Marginalia.
        (" /*application:Dummy,controller:users,action:index*/", "application=Dummy controller=users action=index"),
        (
            "/*app:api,endpoint:Travis::API::V3::Services,request_id:123e4567-e89b-12d3-a456-426655440000*/",
            "app=api endpoint=Travis::API::V3::Services request_id=123e4567-e89b-12d3-a456-426655440000",
        ),
        (
            "/*application:App,line:/srv/app/models/a.rb:12:in `first, or not'*/",
            "application=App line=/srv/app/models/a.rb:12:in `first, or not'",
        ),
        ("/*application:'apibb',action:'show'*/", "application=apibb action=show"),
        ("/*application:App,action:index*/ /*an annotation*/", "application=App action=index"),
        ("/*job:Foo,Admin::Bar*/", "job=Foo,Admin::Bar"),
        // Nothing is encoded there: this is what an injected pair looks like.
        ("/*controller:x,tier:gold*/", "controller=x tier=gold"),
        // Hasura.
        (
            "/* request_id=487c2ed5-08a4-429a-b0e0-4666a82e3cc6, field_name=child, operation_name=GetChild */",
            "request_id=487c2ed5-08a4-429a-b0e0-4666a82e3cc6 field_name=child operation_name=GetChild",
        ),
        // Vitess.
        ("/*vt+ PRIORITY=50 WORKLOAD_NAME=billing */", "priority=50 workload=billing"),
        ("/*vt+ workload_name=\"my billing\" ALLOW_SCATTER priority=7*/", "workload=my priority=7"),
        ("/*vt+ SKIP_QUERY_PLAN_CACHE=1 QUERY_TIMEOUT_MS=100 */", ""),
        // Tools.
        ("/*pt-online-schema-change 14408 copy nibble*/", "tool:pt-online-schema-change"),
        ("/* pt-table-checksum */", "tool:pt-table-checksum"),
        ("/* large hadron migration */", "tool:lhm"),
        ("/* gh-ost */ /*app='x'*/", "app=x tool:gh-ost"),
    ] {
        check_trailing(comment, expected);
    }
}

#[test]
fn infixes_are_of_tools_and_vitess() {
    for (infix, expected) in [
        (" gh-ost ", "tool:gh-ost"),
        (" gh-ost `shop`.`orders` ", "tool:gh-ost"),
        ("vt+ PRIORITY=33 ", "priority=33"),
        ("app='x'", ""),
        ("app:x", ""),
        ("! gh-ost", ""),
        ("+ gh-ost", ""),
        ("", ""),
    ] {
        assert_eq!(told(&read_comments(b"", b"", Some(infix.as_bytes()))), expected, "{infix}");
    }
    let long = [b"gh-ost ", &[b' '; limits::REGION][..]].concat();
    assert!(read_comments(b"", b"", Some(&long)).is_empty());
}

#[test]
fn traces_are_no_identity() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (one, other) = (format!("/*app='x',traceparent='{trace}'*/"), "/*app='x',tracestate='a%3Db'*/");
    let (one, other) = (read_comments(b"", one.as_bytes(), None), read_comments(b"", other.as_bytes(), None));
    assert_eq!(one.traceparent(), Some(trace.as_bytes()));
    assert_eq!(other.traceparent(), None);
    assert_eq!(one.key(), other.key());
    assert_eq!(told(&one), "app=x");
    for text in ["/*traceparent='a b'*/", "/*traceparent='0%0a1'*/", "/*%74raceparent='xyz'*/", "/*traceparent=''*/"] {
        let said = read_comments(text.as_bytes(), b"", None);
        assert!(said.is_empty() && said.traceparent().is_none(), "{text}");
    }
    assert!(read_comments(b"/*traceparent:00-1-2-3*/", b"", None).is_empty());
    // A trace in something that turns out to be prose is not one.
    assert_eq!(read_comments(b"/*traceparent='00-1-2-3', no more*/", b"", None).traceparent(), None);
}

#[test]
fn prose_says_nothing() {
    for comment in [
        "/* criteria query */",
        "/* dynamic native SQL query */",
        "/* note: this one is slow, see INC-42 */",
        "/* TODO: fix */",
        "/* a=1 AND b=2 */",
        "/* WHERE a='1' */",
        "/* a = 'b' */",
        "/*a='1', and more*/",
        "/*app='x*/",
        "/*app='x\\'*/",
        "/*app='x',b='y*/",
        "/*app*/",
        "/*app=*/",
        "/*app=''*/",
        "/*app:*/",
        "/*:x*/",
        "/*='x'*/",
        "/*Admin::Users*/",
        "/*vt+*/",
        "/*vt+PRIORITY=1*/",
        "/*,*/",
        "/**/",
        "/* */",
        "/***/",
        "-- app='x'",
        "-- /*app='x'*/",
        "# /*app='x'*/\n",
        "/*! app='x' */",
        "/*!99999 app='x' */",
        "/*!99999 /**/ /*app='x'*/ */",
        "/*M! app='x' */",
        "/*+ app='x' */",
        "/*+ MAX_EXECUTION_TIME(1000) */",
        "/*app='x'",
        "/*app='x'*",
        "'/*app='x'*/'",
        "\"/*app='x'*/",
        "SELECT /*app='x'*/",
    ] {
        check_trailing(comment, "");
        assert!(read_comments(b"", comment.as_bytes(), None).is_empty(), "{comment}");
    }
}

#[test]
fn hostile_values_are_left_out() {
    let long = "v".repeat(257);
    let (percent, long_key) = ("%41".repeat(257), "k".repeat(65));
    for (comment, expected) in [
        ("/*a='1%00',b='2'*/".to_owned(), "b=2"),
        ("/*a='1%0A',b='2'*/".to_owned(), "b=2"),
        ("/*a='%FF',b='2'*/".to_owned(), "b=2"),
        ("/*a='1\0',b='2'*/".to_owned(), "b=2"),
        (format!("/*a='{long}',b='2'*/"), "b=2"),
        (format!("/*a='{percent}',b='2'*/"), "b=2"),
        (format!("/*{long_key}='1',b='2'*/"), "b=2"),
        ("/*a%20b='1',b='2'*/".to_owned(), "b=2"),
        ("/*%61='1'*/".to_owned(), "a=1"),
        ("/*a='%%%%%%'*/".to_owned(), "a=%%%%%%"),
        ("/*a='%C3%A9'*/".to_owned(), "a=é"),
        (format!("/*a:{long},b:2*/"), "b=2"),
        ("/*a=1,,, ,b=2,*/".to_owned(), "a=1 b=2"),
    ] {
        check_trailing(&comment, expected);
    }
    assert!(read_comments(b"/*a='\xFF'*/ /*b:\xC3*/", b"", None).is_empty());
}

#[test]
fn too_many_pairs_are_none() {
    let pairs = |count: usize| (0..count).map(|n| format!("k{n}='v'")).collect::<Vec<_>>().join(",");
    let most = format!("/*{}*/", pairs(32));
    assert_eq!(read_comments(b"", most.as_bytes(), None).tags().count(), 32);
    for comments in [format!("/*{}*/", pairs(33)), format!("{most} /*tier='gold'*/"), format!("/*tier='gold'*/{most}")]
    {
        let said = read_comments(b"", comments.as_bytes(), None);
        assert_eq!((said.tags().count(), said.conflicts(), said.is_empty()), (0, 1, false));
        assert_eq!(said.to_owned().said().conflicts(), 1);
    }
    // Prose has no pairs, however many it seems to have at first.
    let prose = format!("/*app='x'*/ /*{} the end*/", pairs(33));
    assert_eq!(told(&read_comments(b"", prose.as_bytes(), None)), "app=x");
}

#[test]
fn of_long_texts_the_ends_are_read() {
    let spaces = " ".repeat(limits::REGION);
    for (text, at_the_front, at_the_end) in [
        (format!("/*a='1'*/{spaces}/*b='2'*/"), "a=1", "b=2"),
        (format!("/*a='1'*/{spaces}"), "a=1", ""),
        (format!("{spaces}/*b='2'*/"), "", "b=2"),
        // What begins before the end is not half read.
        (format!("/*{spaces}*/ /*b='2'*/"), "", "b=2"),
        (format!("/* b='2' {spaces}b='2'*/"), "", ""),
        (format!("/*b='2'{spaces}/* b='2'*/"), "", ""),
        (format!("-- {spaces} /*b='2'*/"), "", ""),
    ] {
        assert_eq!(told(&read_comments(text.as_bytes(), b"", None)), at_the_front);
        assert_eq!(told(&read_comments(b"", text.as_bytes(), None)), at_the_end);
    }
}

#[test]
fn huge_texts_are_read_once() {
    // Slow as a debug build is, anything but one pass would not end.
    for (unit, bytes) in [
        ("/*a='1'*/", 16 << 20),
        (" ", 16 << 20),
        ("/**/", 2 << 20),
        ("/*", 2 << 20),
        ("/*!", 2 << 20),
        ("/*a='", 2 << 20),
        ("/*a:b,", 2 << 20),
        ("/*gh-ost*/", 2 << 20),
        ("-- \n", 2 << 20),
        ("'", 2 << 20),
    ] {
        let text = unit.repeat(bytes / unit.len());
        let said = read_comments(text.as_bytes(), text.as_bytes(), Some(text.as_bytes()));
        assert!(said.tags().count() <= limits::PAIRS, "{unit}");
    }
}

/// Bytes that mean something, so that random texts are often nearly right.
const PIECES: [&[u8]; 34] = [
    b"/*",
    b"*/",
    b"/*!",
    b"/*+",
    b"/*M!",
    b"-- ",
    b"#",
    b"\n",
    b" ",
    b";",
    b"=",
    b"'",
    b"\\'",
    b",",
    b":",
    b"%",
    b"%%",
    b"%4",
    b"%41",
    b"%00",
    b"+",
    b"\\",
    b"a",
    b"key",
    b"v",
    b"vt+ ",
    b"PRIORITY",
    b"gh-ost",
    b"pt-kill",
    b"explain ",
    b"\0",
    b"\xFF",
    b"traceparent",
    b"\xC3\xA9",
];
const COMMENTS: [&[u8]; 6] = [
    b" /*a='1%20',b='2'*/ ",
    b"/*traceparent='00-1-1-1',app='it's',n=3*/;",
    b"/*application:App,action:x,y*/",
    b"/* k=v, k2=v2 */",
    b"/*vt+ PRIORITY=50 WORKLOAD_NAME=x */",
    b"/* gh-ost */",
];

/// Some comments, with some pieces put into random places.
fn random_text(rng: &mut StdRng) -> Vec<u8> {
    let comments = rng.random_range(0..4);
    let mut text: Vec<u8> =
        (0..comments).flat_map(|_| COMMENTS[rng.random_range(0..COMMENTS.len())]).copied().collect();
    for _ in 0..rng.random_range(0..4) {
        let at = rng.random_range(0..=text.len());
        text.splice(at..at, PIECES[rng.random_range(0..PIECES.len())].iter().copied());
    }
    text
}

#[test]
fn whatever_is_read_is_within_the_limits() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut pairs = 0;
    for _ in 0..20_000 {
        let (leading, trailing, infix) = (random_text(&mut rng), random_text(&mut rng), random_text(&mut rng));
        let said = read_comments(&leading, &trailing, Some(&infix));
        assert!(said.tags().count() <= limits::PAIRS);
        for (key, value) in said.tags() {
            pairs += 1;
            assert!(limits::is_key(&key) && limits::is_value(&value), "{key:?} {value:?}");
            assert!(!matches!(key.as_ref(), b"traceparent" | b"tracestate"));
        }
        let kept = said.to_owned();
        assert_eq!(kept.said().key(), said.key());
        assert_eq!(told(&kept.said()), told(&said));
    }
    assert!(pairs > 10_000, "{pairs} pairs are too few to show anything");
}

/// Written with every care by the specification, and read back.
#[test]
fn what_is_written_is_read() {
    let mut rng = StdRng::seed_from_u64(2);
    for round in 0..5_000 {
        let pairs: Vec<(String, String)> =
            (0..rng.random_range(1..8)).map(|n| (format!("key_{n}"), random_value(&mut rng))).collect();
        let written: Vec<String> =
            pairs.iter().map(|(key, value)| format!("{key}='{}'", encoded(value, round))).collect();
        let comment = format!(" /*{}*/ ;", written.join(","));
        let said = read_comments(b"", comment.as_bytes(), None);
        let read: Vec<(String, String)> = said
            .tags()
            .map(|(key, value)| (String::from_utf8(key.into()).unwrap(), String::from_utf8(value.into()).unwrap()))
            .collect();
        assert_eq!(read, pairs, "{comment}");
    }
}

fn random_value(rng: &mut StdRng) -> String {
    const CHARACTERS: [char; 16] = ['a', 'Z', '0', '-', '.', '_', '/', ' ', '+', '%', '\'', '\\', ',', '*', '=', 'é'];
    (0..rng.random_range(1..20)).map(|_| CHARACTERS[rng.random_range(0..CHARACTERS.len())]).collect()
}

/// As one of: Python, Java, JavaScript, the specification.
fn encoded(value: &str, dialect: usize) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match (byte, dialect % 4) {
            (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_', _) => text.push(byte.into()),
            (b'/', 0) => text.push('/'),
            (_, 0) => text.push_str(&format!("%%{byte:02X}")),
            (b' ', 1) => text.push('+'),
            (b'*', 1 | 2) => text.push('*'),
            (b'\'', 2) => text.push('\''),
            (b'\'', 3) => text.push_str("\\'"),
            _ => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}
