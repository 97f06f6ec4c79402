use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::{NamePart, Trust, read_comments};

type Attributes<'a> = &'a [(&'a str, &'a str)];

struct Login {
    user: &'static str,
    address: Option<IpAddr>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    listener: Arc<str>,
}

impl Login {
    fn new(user: &'static str, attributes: Attributes<'_>) -> Login {
        let attributes = attributes.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()));
        let address = Some("::ffff:10.1.2.3".parse().unwrap());
        Login { user, address, attributes: attributes.collect(), listener: Arc::from("main") }
    }

    fn identities(&self, settings: &Settings) -> Identities {
        let connection = Connection {
            user: self.user.as_bytes(),
            address: self.address,
            certificate: Some("CN=cert"),
            listener: &self.listener,
            attributes: &self.attributes,
        };
        of_connection(settings, &connection)
    }
}

fn said<'a>(comment: &'a str, attributes: Attributes<'a>) -> Said<'a> {
    let attributes = attributes.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes()));
    read_comments(b"", comment.as_bytes(), None).with_query_attributes(attributes)
}

fn trusting(trust: Trust) -> Settings {
    Settings { trust_claims_of: vec![trust], ..Settings::default() }
}

#[test]
fn a_connection_has_its_facts() {
    let login = Login::new("etl", &[("program_name", "/usr/bin/pt-archiver"), ("_pid", "7"), ("a", "1"), ("a", "2")]);
    let Identities { claimed, trusted, conflicts } = login.identities(&Settings::default());
    assert_eq!(conflicts, 1);
    assert_eq!(claimed.name.as_str(), "/usr/bin/pt-archiver:etl");
    assert_eq!(claimed.address, Some("10.1.2.3".parse().unwrap()));
    assert_eq!(claimed.certificate.as_deref(), Some("CN=cert"));
    assert_eq!((claimed.attrs.get(b"_pid"), claimed.attrs.get(b"a")), (Some(&b"7"[..]), None));
    assert_eq!(claimed.tool.as_deref(), Some(&b"pt-archiver"[..]));

    let trusted = trusted.unwrap();
    let expected =
        Identity { name: crate::Name::new("etl"), attrs: Pairs::default(), tool: None, ..Identity::clone(&claimed) };
    assert_eq!(*trusted, expected);
}

#[test]
fn who_claims_nothing_is_judged_once() {
    let settings = Settings::default();
    let connection = Login::new("etl", &[]).identities(&settings);
    assert!(connection.trusted.is_none());
    for (comment, attributes, twice) in [
        ("", &[][..], false),
        ("/* prose */", &[], false),
        ("/*traceparent='00-1-1-1'*/", &[], false),
        ("/*app='x'*/ /*app='y'*/", &[], false),
        ("/*app='x'*/", &[], true),
        ("/* gh-ost */", &[], true),
        ("", &[("a", "1")], true),
    ] {
        let query = of_query(&settings, &connection, &said(comment, attributes));
        assert_eq!(query.trusted.is_some(), twice, "{comment} {attributes:?}");
        if let Some(trusted) = query.trusted {
            assert_eq!(trusted, connection.claimed);
        }
    }
}

#[test]
fn trusted_claims_are_judged_once() {
    let network = trusting(Trust::Network("10.0.0.0/8".parse().unwrap()));
    for settings in [network, trusting(Trust::User(b"app"[..].into()))] {
        let connection = Login::new("app", &[("program_name", "x")]).identities(&settings);
        let query = of_query(&settings, &connection, &said("/*app='shop'*/", &[("q", "1")]));
        assert!(connection.trusted.is_none() && query.trusted.is_none());
        assert_eq!(query.claimed.name.as_str(), "shop:x:app");
    }
    let other = trusting(Trust::User(b"other"[..].into()));
    assert!(Login::new("app", &[("program_name", "x")]).identities(&other).trusted.is_some());
}

#[test]
fn a_query_adds_to_its_connection() {
    let settings = Settings::default();
    let connection =
        Login::new("etl", &[("program_name", "loader"), ("tollgate_client", "night")]).identities(&settings);
    for (comment, attributes, name, tags, tool, conflicts) in [
        ("", &[][..], "night:loader:etl", "", "", 0),
        ("/*app='shop',team='a'*/", &[], "night:shop:loader:etl", "app=shop team=a", "", 0),
        ("/*client='job-1'*/", &[], "job-1:night:loader:etl", "client=job-1", "", 0),
        ("/* gh-ost */", &[], "night:loader:etl", "", "gh-ost", 0),
        ("/* gh-ost */ /* pt-kill */", &[], "night:loader:etl", "", "", 1),
        // Of conflicting values neither counts, wherever they stand.
        ("/*app='a',app='b',team='x'*/", &[], "night:loader:etl", "team=x", "", 1),
        ("/*app='a'*/ /*app:b*/", &[], "night:loader:etl", "", "", 1),
        ("/*app='a'*/ /*app:a*/", &[], "night:a:loader:etl", "app=a", "", 0),
        ("/*app='%61'*/ /*app='a'*/", &[], "night:a:loader:etl", "app=a", "", 0),
        // A query attribute wins over a comment, and ends its conflicts.
        ("/*app='a',team='t'*/", &[("app", "b")], "night:b:loader:etl", "app=b team=t", "", 0),
        ("/*app='a',app='c'*/", &[("app", "b")], "night:b:loader:etl", "app=b", "", 0),
        ("/*client='a'*/", &[("tollgate_client", "b:c")], "b:c:night:loader:etl", "client=a", "", 0),
        ("/*app='a'*/", &[("app", "b"), ("app", "c")], "night:a:loader:etl", "app=a", "", 1),
        ("", &[("app", "b")], "night:loader:etl", "", "", 0),
    ] {
        let check = |said: &Said<'_>| {
            let query = of_query(&settings, &connection, said);
            assert_eq!(query.claimed.name.as_str(), name, "{comment} {attributes:?}");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let found: Vec<String> =
                query.claimed.tags.iter().map(|(key, value)| format!("{}={}", text(key), text(value))).collect();
            assert_eq!(found.join(" "), tags, "{comment}");
            assert_eq!(query.claimed.tool.as_deref().unwrap_or_default(), tool.as_bytes(), "{comment}");
            assert_eq!(query.conflicts, conflicts, "{comment}");
            assert_eq!(query.claimed.attrs, connection.claimed.attrs);
            assert_eq!(query.trusted, connection.trusted);
        };
        check(&said(comment, attributes));
        // A prepared statement: the comment of the PREPARE, the attributes of the EXECUTE.
        let kept = said(comment, &[("app", "of-no-execute")]).to_owned();
        let attributes = attributes.iter().map(|(key, value)| (key.as_bytes(), value.as_bytes()));
        check(&kept.said().with_query_attributes(attributes));
    }
}

#[test]
fn the_tool_of_a_comment_is_that_of_the_query() {
    let settings = Settings::default();
    let connection = Login::new("etl", &[("program_name", "mysqldump")]).identities(&settings);
    for (comment, tool) in [("", "mysqldump"), ("/*app='x'*/", "mysqldump"), ("/* gh-ost */", "gh-ost")] {
        let query = of_query(&settings, &connection, &said(comment, &[]));
        assert_eq!(query.claimed.tool.as_deref(), Some(tool.as_bytes()));
    }
}

#[test]
fn queries_that_say_nothing_share_the_connections() {
    let settings = Settings::default();
    let connection = Login::new("etl", &[("a", "1"), ("a", "2"), ("b", "1")]).identities(&settings);
    let query = of_query(&settings, &connection, &said("-- nothing\n", &[]));
    assert!(Arc::ptr_eq(&query.claimed, &connection.claimed));
    assert_eq!((connection.conflicts, query.conflicts), (1, 0));
}

#[test]
fn attributes_are_bounded() {
    let long = "v".repeat(257);
    let keys: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
    let mut attributes = vec![("", "1"), ("a b", "1"), ("c", ""), ("d", "\n"), ("e", long.as_str())];
    attributes.extend(keys.iter().map(|key| (key.as_str(), "v")));
    let claimed = Login::new("u", &attributes).identities(&Settings::default()).claimed;
    assert_eq!(claimed.attrs.iter().count(), 64 - 5);
}

/// Whatever is claimed, what stands on trusted facts is the same, and its name is within the claimed one.
#[test]
fn no_claim_changes_what_is_trusted() {
    const WORDS: [&str; 12] =
        ["etl", "a", "client", "app", "program_name", "tollgate_client", "x:y", "unattributed", "*", "", "é", "cert"];
    let mut rng = StdRng::seed_from_u64(3);
    let names = ["client", "tag.app", "attr.program_name", "user", "certificate", "tool", "query_attr.app", "address"];
    for round in 0..3_000 {
        let mut word = || WORDS[rng.random_range(0..WORDS.len())];
        let attributes: Vec<(&str, &str)> = (0..round % 4).map(|_| (word(), word())).collect();
        let query: Vec<(&str, &str)> = (0..round % 3).map(|_| (word(), word())).collect();
        let comment = format!("/*{}='{}',{}='{}'*/ /*gh-ost*/", word(), word(), word(), word());
        let mut name: Vec<NamePart> = names.iter().filter_map(|part| NamePart::named(part)).collect();
        for at in 0..name.len() {
            name.swap(at, rng.random_range(0..names.len()));
        }
        name.truncate(rng.random_range(0..names.len()));
        let settings = Settings { name, ..Settings::default() };

        let silent = Login::new("etl", &[]).identities(&settings);
        let connection = Login::new("etl", &attributes).identities(&settings);
        let query = of_query(&settings, &connection, &said(&comment, &query));
        for identities in [&connection, &query] {
            let trusted = identities.trusted.as_ref().unwrap_or(&identities.claimed);
            assert_eq!(trusted, &silent.claimed, "{attributes:?} {comment}");
            let mut parts = identities.claimed.name.parts();
            if trusted.name.as_str() != crate::Name::UNATTRIBUTED {
                assert!(trusted.name.parts().all(|part| parts.any(|other| other == part)), "{identities:?}");
            }
            assert!(identities.claimed.name.as_str().len() <= 256);
        }
    }
}
