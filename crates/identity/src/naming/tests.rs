use std::sync::Arc;

use super::*;
use crate::{Pairs, Settings};

fn pairs(text: &str) -> Pairs {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    Pairs::new(pairs.map(|(key, value)| (key.as_bytes(), value.as_bytes()))).0
}

fn identity(user: &str, attrs: &str, tags: &str, query_attrs: &str) -> Identity {
    Identity {
        user: user.as_bytes().into(),
        listener: Arc::from("main"),
        attrs: pairs(attrs),
        tags: pairs(tags),
        query_attrs: pairs(query_attrs),
        ..Identity::default()
    }
}

#[test]
fn names_by_default() {
    for (user, attrs, tags, query_attrs, expected) in [
        ("etl", "", "", "", "etl"),
        ("etl", "program_name=loader _pid=7", "", "", "loader:etl"),
        ("etl", "program_name=loader", "app=shop", "", "shop:loader:etl"),
        // A name that the client states, of the query or of the connection.
        ("etl", "", "client=job-42:etl:warehouse", "", "job-42:warehouse:etl"),
        ("u", "tollgate_client=job-42:etl:warehouse", "", "", "job-42:etl:warehouse:u"),
        ("u", "tollgate_client=b", "client=a", "", "a:b:u"),
        ("u", "tollgate_client=b", "client=a", "tollgate_client=q:a", "q:a:b:u"),
        ("u", "", "", "client=q", "u"),
        ("u", "", "client=::a::", "", "a:u"),
        // Each part once; a trusted one keeps its place.
        ("shop", "program_name=shop", "app=shop client=shop", "", "shop"),
        ("u", "program_name=x", "app=x client=x", "", "x:u"),
        ("u", "program_name=x", "client=u:x", "", "x:u"),
        // Nobody is called what only we may say, or more than one thing.
        ("u", "", "app=a:b:c", "", "a_b_c:u"),
        ("u", "", "app=*", "", "_:u"),
        ("u", "", "client=unattributed:__overflow__:UNATTRIBUTED", "", "unattributed_:__overflow___:UNATTRIBUTED_:u"),
        ("__overflow__", "", "", "", "__overflow___"),
        ("a:b c\n", "", "", "", "a_b_c"),
        ("müller", "program_name=/usr/bin/x@y+z", "", "", "/usr/bin/x@y+z:müller"),
        ("", "", "", "", "unattributed"),
        ("", "_pid=7", "x=y", "z=1", "unattributed"),
    ] {
        let identity = identity(user, attrs, tags, query_attrs);
        let name = name(&Settings::default().name, &identity);
        assert_eq!(name.as_str(), expected, "{user} {attrs} {tags} {query_attrs}");
    }
}

#[test]
fn names_of_other_facts() {
    let identity = Identity {
        address: Some("2001:db8::1".parse().unwrap()),
        certificate: Some("C=DE, O=Example, CN=etl".into()),
        tool: Some(b"gh-ost"[..].into()),
        ..identity("u", "a=1", "b=2", "c=3")
    };
    for (parts, expected) in [
        ("address", "2001_db8__1"),
        ("certificate", "etl"),
        ("tool user", "gh-ost:u"),
        ("query_attr.c attr.a tag.b", "3:1:2"),
        ("attr.b tag.c query_attr.a", "unattributed"),
        ("user user", "u"),
        ("", "unattributed"),
    ] {
        let parts: Vec<NamePart> = parts.split_whitespace().map(|part| NamePart::named(part).unwrap()).collect();
        assert_eq!(name(&parts, &identity).as_str(), expected);
    }
}

#[test]
fn common_names() {
    for (subject, expected) in [
        ("CN=etl", "etl"),
        ("C=DE, O=Example, CN=etl", "etl"),
        ("O=Example", "O=Example"),
        ("CN=a, CN=b", "CN=a, CN=b"),
        ("O=x\\, CN=root, CN=etl", "etl"),
        ("O=x\\\\, CN=etl", "etl"),
        ("", ""),
    ] {
        assert_eq!(common_name(subject), expected);
    }
}

#[test]
fn claims_take_no_room_from_trusted_parts() {
    let long = |letter: char| letter.to_string().repeat(100);
    let client: Vec<String> = ('a'..'m').map(long).collect();
    let identity =
        identity(&long('u'), &format!("program_name={}", long('p')), &format!("client={}", client.join(":")), "");
    let name = name(&Settings::default().name, &identity);
    assert!(name.as_str().len() <= NAME_BYTES);
    let parts: Vec<&str> = name.parts().collect();
    assert_eq!(parts.last(), Some(&"u".repeat(PART_BYTES).as_str()));
    assert_eq!(parts.first(), Some(&"a".repeat(PART_BYTES).as_str()));

    let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    let identity = self::identity("u", "", &format!("client={}", many.join(":")), "");
    assert_eq!(self::name(&Settings::default().name, &identity).as_str(), "0:1:2:3:4:5:6:7:u");
    // A character is not cut in two.
    assert_eq!(clean("é".repeat(40).as_bytes()), Some("é".repeat(32)));
}
