//! A server may send its clients elsewhere (`redirect_url`), around the proxy. Here: in the OK of a login and of a change of
//! user, which take other ways than the replies to commands (`bad_input::upstream`, and the session's own tests).

use sandbox::APP;
use wire::{Capabilities, ChangeUser, put_lenenc_bytes};

use crate::harness::{Raw, RawOptions, SCRAMBLE, Scripted, Tollgate};

const PLUGIN: &[u8] = b"caching_sha2_password";

/// An OK whose session state has changed.
fn ok(state: &[u8]) -> Vec<u8> {
    let mut packet = vec![0, 0, 0, 0x02, 0x40, 0, 0, 0];
    put_lenenc_bytes(&mut packet, state);
    packet
}

/// One entry of the session state: a system variable.
fn variable(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut pair = Vec::new();
    put_lenenc_bytes(&mut pair, name);
    put_lenenc_bytes(&mut pair, value);
    let mut entry = vec![0];
    put_lenenc_bytes(&mut entry, &pair);
    entry
}

/// What the server says and what the client must hear, at a login and at a change of user.
fn cases() -> [(&'static str, Vec<u8>, Vec<u8>); 3] {
    let elsewhere = variable(b"redirect_url", b"mysql://elsewhere:3306/?user=app");
    let zone = variable(b"time_zone", b"UTC");
    let nothing = vec![0, 0, 0, 0x02, 0, 0, 0, 0];
    [
        ("by itself", ok(&elsewhere), nothing),
        ("among others", ok(&[zone.clone(), elsewhere, zone.clone()].concat()), ok(&[zone.clone(), zone].concat())),
        ("in capitals", ok(&variable(b"Redirect_URL", b"mysql://elsewhere")), vec![0, 0, 0, 0x02, 0, 0, 0, 0]),
    ]
}

#[test]
fn a_redirect_at_login_or_at_a_change_of_user_is_taken_out() {
    for (what, said, heard) in cases() {
        let upstream = Scripted::offering(Capabilities::SESSION_TRACK, move |raw, _| {
            let switch = wire::encode_switch(PLUGIN, &[&SCRAMBLE[..], &[0]].concat());
            // First the login, then a change of user: the same conversation, but for its numbers.
            let mut sequence = 2;
            loop {
                raw.write(sequence, &switch);
                raw.read().expect("a proof");
                raw.write(sequence + 2, &said);
                let Ok(command) = raw.read() else { return };
                assert_eq!(command.first(), Some(&0x11));
                sequence = 1;
            }
        });
        let tollgate = Tollgate::start(&format!("upstream: {{ address: \"{}\" }}\n", upstream.address));
        let mut options = RawOptions::default();
        options.capabilities |= Capabilities::SESSION_TRACK;
        let mut raw = Raw::greeted(tollgate.address);
        raw.request_login(APP, &options);
        assert_eq!(raw.answer(APP).as_ref(), Ok(&heard), "{what}, at login");
        assert_eq!(tollgate.counter("redirects_stripped"), 1, "{what}");

        let change = ChangeUser {
            user: APP.user.as_bytes(),
            auth_response: b"",
            database: b"",
            charset: Some(45),
            auth_plugin: Some(PLUGIN),
            attributes: None,
        };
        raw.write(0, &change.encode(Capabilities::PLUGIN_AUTH));
        assert_eq!(raw.answer(APP).as_ref(), Ok(&heard), "{what}, at a change of user");
        assert_eq!(tollgate.counter("redirects_stripped"), 2, "{what}");
    }
}
