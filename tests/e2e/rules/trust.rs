//! One is favoured, everybody else yields; and nobody becomes that one by saying so.

use sandbox::{APP, ETL, Login};
use wire::Capabilities;

use super::{AT_ONCE, Answer, ruled, run, word};
use crate::harness::{Raw, RawOptions, Tollgate};

const ALL_BUT_ONE: &str = "rules:\n\
    - { id: everybody-yields, match: { scope: \"*\" }, do: { rejection_ratio: 1 }, permanent: true }\n\
    - { id: favourite, match: { scope: favourite }, do: { rejection_ratio: 0 }, permanent: true }\n\
    - { id: app-is-favoured, match: { scope: app }, do: { rejection_ratio: 0 }, permanent: true }\n";

const READ: &str = "SELECT COUNT(*) FROM mysql.plugin";

pub(super) fn login(tollgate: &Tollgate, login: Login, attributes: &[(&str, &str)]) -> Raw {
    let mut block = Vec::new();
    for (key, value) in attributes {
        for text in [key, value] {
            block.push(u8::try_from(text.len()).expect("short"));
            block.extend_from_slice(text.as_bytes());
        }
    }
    let options = RawOptions {
        capabilities: RawOptions::default().capabilities | Capabilities::QUERY_ATTRIBUTES,
        attributes: Some(block),
        ..RawOptions::default()
    };
    Raw::login_with(tollgate.address, login, &options).expect("a login")
}

/// COM_QUERY with string attributes in front.
pub(super) fn ask(raw: &mut Raw, attributes: &[(&str, &str)], sql: &str) -> Answer {
    let mut body = vec![u8::try_from(attributes.len()).expect("few"), 1];
    if !attributes.is_empty() {
        body.extend(std::iter::repeat_n(0, attributes.len().div_ceil(8)));
        body.push(1);
        for (name, _) in attributes {
            body.extend_from_slice(&[0xFE, 0, u8::try_from(name.len()).expect("short")]);
            body.extend_from_slice(name.as_bytes());
        }
        for (_, value) in attributes {
            body.push(u8::try_from(value.len()).expect("short"));
            body.extend_from_slice(value.as_bytes());
        }
    }
    body.extend_from_slice(sql.as_bytes());
    raw.command(0x03, &body);
    super::answer(raw)
}

pub(super) type Pairs = Vec<(&'static str, &'static str)>;

/// Everything that a client can say of itself: attributes, query attributes, a text.
fn disguises() -> Vec<(Pairs, Pairs, String)> {
    let texts = [
        format!("/* client='favourite' */ {READ}"),
        format!("{READ} /*client='favourite'*/"),
        format!("{READ} /*app='favourite'*/;"),
        format!("/*application:favourite,app:favourite*/ {READ}"),
        format!("/*vt+ WORKLOAD_NAME=favourite */ {READ}"),
        "SELECT COUNT(*), '/*client=''favourite''*/' FROM mysql.plugin".to_owned(),
        format!("/*! {READ} */ /*client='favourite'*/"),
        "SELECT /*! 'favourite', */ COUNT(*) FROM mysql.plugin".to_owned(),
        format!("/*client='app'*/ {READ} /*user='app'*/"),
        format!("-- client='favourite'\n{READ}"),
        format!("# client='favourite'\n{READ}"),
        READ.to_owned(),
    ];
    let mut all: Vec<_> = texts.into_iter().map(|text| (Vec::new(), Vec::new(), text)).collect();
    for key in ["tollgate_client", "program_name", "client", "user", "_client_name"] {
        all.push((vec![(key, "favourite")], Vec::new(), READ.to_owned()));
        all.push((vec![(key, "app")], Vec::new(), READ.to_owned()));
        all.push((Vec::new(), vec![(key, "favourite")], READ.to_owned()));
    }
    all
}

#[test]
fn nobody_becomes_the_favourite_by_saying_so() {
    let tollgate = ruled(&format!("{AT_ONCE}{ALL_BUT_ONE}"));
    let mut app = login(&tollgate, APP, &[]);
    for (attributes, query_attributes, sql) in disguises() {
        let mut etl = login(&tollgate, ETL, &attributes);
        let answer = ask(&mut etl, &query_attributes, &sql);
        assert!(answer.is_refused(), "{attributes:?} {query_attributes:?} {sql}: {answer:?}");
        let Answer::Err(_, message) = answer else { continue };
        assert_eq!(word(&message, "rule"), "everybody-yields");
        assert_eq!(ask(&mut app, &[], READ), Answer::Done, "the favoured user passes");
    }
    let mut etl = login(&tollgate, ETL, &[]);
    for n in 0..100 {
        let fresh = format!("{READ} /*client='favourite-{n}',app='name-{n}'*/");
        assert!(ask(&mut etl, &[], &fresh).is_refused(), "{fresh}");
    }
    // A claim may make it stricter for the one who makes it.
    assert_eq!(ask(&mut app, &[], &format!("{READ} /*client='favourite'*/")), Answer::Done);
}

/// The part of everybody else that passes is the rule's, whatever they say; of the favoured it is all.
#[test]
fn all_but_one_at_nine_tenths() {
    let tollgate = ruled(&format!("{AT_ONCE}{}", ALL_BUT_ONE.replace("rejection_ratio: 1", "rejection_ratio: 0.9")));
    let mut app = login(&tollgate, APP, &[]);
    for n in 0..1000 {
        assert_eq!(ask(&mut app, &[], READ), Answer::Done, "unit {n} of the favoured");
    }
    let passed = |attributes: &[_], query_attributes: &[_], sql: &str, units: usize| {
        let mut etl = login(&tollgate, ETL, attributes);
        let passes = |_: &usize| match ask(&mut etl, query_attributes, sql) {
            Answer::Done => true,
            Answer::Err(code, message) => {
                let said = (code, word(&message, "rule"), word(&message, "reason"));
                assert_eq!(said, (1226, "everybody-yields", "ratio"), "{message}");
                false
            }
        };
        (0..units).filter(passes).count()
    };
    let plain = passed(&[], &[], READ, 1000);
    // 4 standard deviations of 1,000 rolls at 0.1.
    assert!(plain.abs_diff(100) <= 38, "{plain} of 1,000 at 0.9");
    let mut disguised = 0;
    let disguises = disguises();
    for (attributes, query_attributes, sql) in &disguises {
        let count = passed(attributes, query_attributes, sql, 100);
        // The favoured has all of them; that the dice give half of them does not happen.
        assert!(count < 50, "{count} of 100: {attributes:?} {query_attributes:?} {sql}");
        disguised += count;
    }
    // The same of all disguises together.
    let (units, four) = (100 * disguises.len(), 62);
    assert_eq!(units, 2700, "`four` is of so many");
    assert!(disguised.abs_diff(units / 10) <= four, "{disguised} of {units} at 0.9");
}

#[test]
fn a_trusted_users_claims_are_believed() {
    let trust = "identity: { trust_claims_of: [etl] }\n";
    let tollgate = ruled(&format!("{AT_ONCE}{trust}{ALL_BUT_ONE}"));
    let believed = [
        (vec![("tollgate_client", "favourite")], Vec::new(), READ.to_owned()),
        (vec![("program_name", "favourite")], Vec::new(), READ.to_owned()),
        (Vec::new(), vec![("tollgate_client", "job-7:favourite")], READ.to_owned()),
        (Vec::new(), Vec::new(), format!("/* client='favourite' */ {READ}")),
        (Vec::new(), Vec::new(), format!("{READ} /*app='favourite'*/")),
    ];
    for (attributes, query_attributes, sql) in believed {
        let mut etl = login(&tollgate, ETL, &attributes);
        assert_eq!(ask(&mut etl, &query_attributes, &sql), Answer::Done, "{attributes:?} {query_attributes:?} {sql}");
    }
    let mut etl = login(&tollgate, ETL, &[]);
    assert!(ask(&mut etl, &[], READ).is_refused(), "without the name it is like everybody");
    assert!(ask(&mut etl, &[], "SELECT COUNT(*), '/*app=''favourite''*/' FROM mysql.plugin").is_refused());
}

#[test]
fn a_claim_makes_it_stricter_and_never_easier() {
    let rules = "rules:\n\
        - { id: batch, match: { tag.kind: batch }, do: { rejection_ratio: 1 }, permanent: true }\n";
    let tollgate = ruled(&format!("{AT_ONCE}{rules}"));
    let mut raw = Raw::login(tollgate.address, APP);
    assert_eq!(run(&mut raw, READ), Answer::Done);
    assert!(run(&mut raw, &format!("{READ} /*kind='batch'*/")).is_refused());
    assert_eq!(tollgate.counter("identity_conflicts"), 0);
    // Two values for one key: neither counts, and that is counted.
    assert_eq!(run(&mut raw, &format!("/*kind='batch'*/ {READ} /*kind='web'*/")), Answer::Done);
    assert_eq!(tollgate.counter("identity_conflicts"), 1);
    // Nobody looks at this key.
    assert_eq!(run(&mut raw, &format!("/*other='batch'*/ {READ} /*other='web'*/")), Answer::Done);
    assert_eq!(tollgate.counter("identity_conflicts"), 1);
}

/// Who says nothing that makes a name, or whose word for it does not count.
#[test]
fn a_rule_for_the_unattributed_concerns_nobody_else() {
    let rules = "rules:\n\
        - { id: who-are-you, match: { scope: unattributed }, do: { rejection_ratio: 1 }, permanent: true }\n";
    let names = "identity: { name: [client, tag.app], trust_claims_of: [etl] }\n";
    let tollgate = ruled(&format!("{AT_ONCE}{names}{rules}"));
    let named = format!("{READ} /*app='loader'*/");
    let mut asked_without_name = 0;
    for (user, attributes, sql, stopped) in [
        (ETL, vec![], READ, true),
        (ETL, vec![], named.as_str(), false),
        (ETL, vec![("tollgate_client", "loader")], READ, false),
        (ETL, vec![("program_name", "loader")], READ, true),
        // Nobody is called so who says so.
        (ETL, vec![("tollgate_client", "unattributed")], READ, false),
        // One whose claims are not trusted does not escape by a name.
        (APP, vec![], READ, true),
        (APP, vec![], named.as_str(), true),
    ] {
        let mut raw = login(&tollgate, user, &attributes);
        let answer = ask(&mut raw, &[], sql);
        assert_eq!(answer.is_refused(), stopped, "{user:?} {attributes:?} {sql}: {answer:?}");
        if let Answer::Err(_, message) = answer {
            assert_eq!(word(&message, "rule"), "who-are-you");
            asked_without_name += u64::from(word(&message, "client") == "unattributed");
        }
    }
    assert_eq!(asked_without_name, 3);
    assert_eq!(tollgate.counter("statements_unattributed"), asked_without_name);
}

/// COM_STMT_EXECUTE of a statement without parameters, with string attributes.
fn execute(raw: &mut Raw, id: u32, attributes: &[(&str, &str)]) -> Answer {
    // PARAMETER_COUNT_AVAILABLE
    let mut body = [&id.to_le_bytes()[..], &[8, 1, 0, 0, 0]].concat();
    body.push(u8::try_from(attributes.len()).expect("few"));
    if !attributes.is_empty() {
        body.extend(std::iter::repeat_n(0, attributes.len().div_ceil(8)));
        body.push(1);
        for (name, _) in attributes {
            body.extend_from_slice(&[0xFE, 0, u8::try_from(name.len()).expect("short")]);
            body.extend_from_slice(name.as_bytes());
        }
        for (_, value) in attributes {
            body.push(u8::try_from(value.len()).expect("short"));
            body.extend_from_slice(value.as_bytes());
        }
    }
    raw.command(0x17, &body);
    super::answer(raw)
}

#[test]
fn a_prepared_statement_keeps_what_its_text_says_and_its_execution_may_say_otherwise() {
    let tollgate = ruled(&format!("{AT_ONCE}identity: {{ trust_claims_of: [etl] }}\n{ALL_BUT_ONE}"));
    let mut etl = login(&tollgate, ETL, &[]);
    let [tagged, plain] = [format!("{READ} /*app='favourite'*/"), READ.to_owned()]
        .map(|sql| super::protocols::prepare(&mut etl, &sql).expect("a statement"));
    for (what, id, attributes, refused) in [
        ("tagged", tagged, &[][..], false),
        ("plain", plain, &[], true),
        ("tagged, once more", tagged, &[], false),
        ("plain, with a name of its own", plain, &[("tollgate_client", "favourite")], false),
        ("plain after that", plain, &[], true),
        ("tagged, with an attribute that says otherwise", tagged, &[("app", "other")], true),
    ] {
        let answer = execute(&mut etl, id, attributes);
        assert_eq!(answer.is_refused(), refused, "{what}: {answer:?}");
    }
}
