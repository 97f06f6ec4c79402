//! What both ends say during a login: no panic, and what decodes is written as something that decodes alike.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{AuthPacket, Capabilities, ChangeUser, Greeting, LoginPacket, attributes};

fuzz_target!(|input: &[u8]| {
    let Some((&which, payload)) = input.split_first() else { return };
    match which % 5 {
        0 => greeting(payload),
        1 => login_packet(payload),
        2 => change_user(payload),
        3 => own_attributes(payload),
        _ => auth_packet(payload),
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
