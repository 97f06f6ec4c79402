//! What both ends say during a login: no panic, and what decodes is written as something that decodes alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relay::fuzzing::{Account, account, certificate_facts};
use relay::password_exchange::{self, ExchangeError, Password};
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};
use wire::{AuthPacket, Capabilities, ChangeUser, Greeting, LoginPacket, attributes};

fuzz_target!(|input: &[u8]| {
    let Some((&which, payload)) = input.split_first() else { return };
    match which % 8 {
        0 => greeting(payload),
        1 => login_packet(payload),
        2 => change_user(payload),
        3 => own_attributes(payload),
        4 => auth_packet(payload),
        5 => public_key(payload),
        6 => certificate(payload),
        _ => our_uid(payload),
    }
});

fn greeting(payload: &[u8]) {
    let Ok(greeting) = Greeting::decode(payload) else { return };
    assert_eq!(Greeting::decode(&greeting.encode()).as_ref(), Ok(&greeting));
    let _ = greeting.is_mariadb();
}

fn login_packet(payload: &[u8]) {
    match LoginPacket::decode(payload) {
        Ok(LoginPacket::SslRequest(request)) => assert_eq!(request.encode(), payload),
        Ok(LoginPacket::Login(login)) => {
            let written = login.encode();
            let Ok(LoginPacket::Login(again)) = LoginPacket::decode(&written) else { panic!("{login:?}") };
            assert_eq!((again.user, again.auth_response), (login.user, login.auth_response));
            assert_eq!(again.database.unwrap_or_default(), login.database.unwrap_or_default());
            assert_eq!(again.auth_plugin.unwrap_or_default(), login.auth_plugin.unwrap_or_default());
            assert_eq!(again.attributes.unwrap_or_default(), login.attributes.unwrap_or_default());
            own_attributes(login.attributes.unwrap_or_default());
        }
        Err(_) => {}
    }
}

fn change_user(payload: &[u8]) {
    for capabilities in [
        Capabilities::empty(),
        Capabilities::PLUGIN_AUTH,
        Capabilities::CONNECT_ATTRS,
        Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS,
    ] {
        let Ok(change) = ChangeUser::decode(payload, capabilities) else { continue };
        let written = change.encode(capabilities);
        let again = ChangeUser::decode(&written, capabilities).expect("what was just written");
        assert_eq!(
            (again.user, again.auth_response, again.database),
            (change.user, change.auth_response, change.database)
        );
        assert_eq!(again.charset, change.charset);
        assert_eq!(again.attributes.unwrap_or_default(), change.attributes.unwrap_or_default());
    }
}

/// The proxy's own come first, nobody else's bear its prefix, and the limit holds.
fn own_attributes(block: &[u8]) {
    const LIMIT: usize = 200;
    let own: [(&[u8], &[u8]); 1] = [(b"_tollgate_x", b"y")];
    let rewritten = attributes::with_own(block, &own, LIMIT);
    assert!(rewritten.block.len() <= LIMIT);
    let pairs: Vec<_> = attributes::iterate(&rewritten.block).map(|pair| pair.expect("well-formed")).collect();
    assert_eq!(pairs.first(), Some(&own[0]));
    assert!(pairs[1..].iter().all(|(key, _)| !key.to_ascii_lowercase().starts_with(b"_tollgate_")));
    let given = attributes::iterate(block).count();
    assert_eq!(given, pairs.len() - 1 + rewritten.dropped);
}

fn auth_packet(payload: &[u8]) {
    match AuthPacket::decode(payload) {
        AuthPacket::Switch { plugin, data } => {
            let written = wire::encode_switch(plugin, data);
            assert_eq!(AuthPacket::decode(&written), AuthPacket::Switch { plugin, data });
            let _ = wire::scramble(data);
        }
        AuthPacket::MoreData(data) => {
            assert_eq!(wire::encode_more_data(data), payload);
        }
        AuthPacket::NextFactor { data, .. } => drop(wire::scramble(data).to_vec()),
        AuthPacket::Ok | AuthPacket::Err | AuthPacket::OldSwitch | AuthPacket::Unknown => {}
    }
}

/// A key that a server sent is refused as a key, or takes a password; the scramble is right and the password short.
fn public_key(pem: &[u8]) {
    let password = Password::new(b"secret".to_vec());
    match password_exchange::encrypt(pem, &password, &[7; password_exchange::SCRAMBLE_LENGTH]) {
        // 2048 to 8192 bits.
        Ok(encrypted) => assert!((256..=1024).contains(&encrypted.len())),
        Err(ExchangeError::BadPublicKey | ExchangeError::Encryption) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Nothing that a certificate says can pass for more than one of its names, or for another line of a log.
fn certificate(der: &[u8]) {
    let Some(facts) = certificate_facts(der) else { return };
    assert!(!facts.subject.chars().any(char::is_control), "{facts:?}");
    let attributes = attributes_of(&facts.subject);
    let names: Vec<&str> = attributes.iter().filter(|(key, _)| key == "CN").map(|(_, value)| value.as_str()).collect();
    if let Some(name) = &facts.common_name {
        assert_eq!(names, [name], "{:?}", facts.subject);
    }
}

/// Reads a subject back: keys and values, by what is not escaped.
fn attributes_of(subject: &str) -> Vec<(String, String)> {
    let (mut attributes, mut characters) = (Vec::new(), subject.chars());
    let (mut key, mut value): (String, Option<String>) = (String::new(), None);
    while let Some(character) = characters.next() {
        let next = match character {
            '\\' => match characters.next().expect("something behind a backslash") {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let digits: String = characters.by_ref().take_while(|c| *c != '}').skip(1).collect();
                    let code = u32::from_str_radix(&digits, 16).expect("digits");
                    char::from_u32(code).expect("a character")
                }
                other => other,
            },
            '=' => {
                assert!(value.is_none(), "a value with an = in {subject:?}");
                value = Some(String::new());
                continue;
            }
            ',' | '+' => {
                // The space before a plus and the one behind either are ours.
                let mut value = value.take().expect("a key has a value");
                if character == '+' {
                    assert_eq!(value.pop(), Some(' '), "{subject:?}");
                }
                assert_eq!(characters.next(), Some(' '), "{subject:?}");
                attributes.push((std::mem::take(&mut key), value));
                continue;
            }
            other => other,
        };
        value.as_mut().unwrap_or(&mut key).push(next);
    }
    if !subject.is_empty() {
        attributes.push((key, value.expect("a key has a value")));
    }
    attributes
}

/// Which account was let in does not depend on how the answers are cut, and is never trusted where the answer names a
/// method of the proxy's own uid, or is not there.
fn our_uid(answers: &[u8]) {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());
    let flavors = [false, true].into_iter();
    let cases = flavors.flat_map(|mariadb| {
        [Capabilities::empty(), Capabilities::DEPRECATE_EOF].map(|capabilities| (mariadb, capabilities))
    });
    for (is_mariadb, capabilities) in cases {
        let told = [4096, 3, 1].map(|piece| RUNTIME.block_on(account(answers, piece, is_mariadb, capabilities)));
        assert!(told.iter().all(|other| *other == told[0]), "{told:?}");
        if told[0] == Account::ByProofOnly {
            // An answer has a number of columns, a column, a row and an end, at the least. MySQL's first one may suffice.
            let least = if is_mariadb { 2 } else { 1 };
            assert!(answers.len() >= least * (5 + 5 + 5 + 5));
        }
    }
}
