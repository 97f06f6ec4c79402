use crate::{Fields, put_nul_bytes};

/// What a server sends between the login request and the end of the login. The first byte tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthPacket<'a> {
    Ok,
    Err,
    /// AuthSwitchRequest; `data` as sent, see [`scramble`].
    Switch {
        plugin: &'a [u8],
        data: &'a [u8],
    },
    /// A lone 0xFE: change to the password hash from before 4.1.
    OldSwitch,
    MoreData(&'a [u8]),
    /// The next of several factors (MULTI_FACTOR_AUTHENTICATION).
    NextFactor {
        plugin: &'a [u8],
        data: &'a [u8],
    },
    Unknown,
}

const MORE_DATA: u8 = 0x01;
const NEXT_FACTOR: u8 = 0x02;
const SWITCH: u8 = 0xFE;

impl<'a> AuthPacket<'a> {
    pub fn decode(payload: &'a [u8]) -> Self {
        match payload {
            [0x00, ..] => Self::Ok,
            [0xFF, ..] => Self::Err,
            [SWITCH] => Self::OldSwitch,
            [SWITCH, rest @ ..] => {
                let (plugin, data) = plugin_and_data(rest);
                Self::Switch { plugin, data }
            }
            [MORE_DATA, data @ ..] => Self::MoreData(data),
            [NEXT_FACTOR, rest @ ..] => {
                let (plugin, data) = plugin_and_data(rest);
                Self::NextFactor { plugin, data }
            }
            _ => Self::Unknown,
        }
    }
}

fn plugin_and_data(rest: &[u8]) -> (&[u8], &[u8]) {
    let mut fields = Fields::new(rest);
    (fields.nul_or_rest(), fields.rest())
}

/// `data` is written as it is: a scramble needs its trailing NUL from the caller.
pub fn encode_switch(plugin: &[u8], data: &[u8]) -> Vec<u8> {
    let mut out = vec![SWITCH];
    put_nul_bytes(&mut out, plugin);
    out.extend_from_slice(data);
    out
}

pub fn encode_more_data(data: &[u8]) -> Vec<u8> {
    let mut out = vec![MORE_DATA];
    out.extend_from_slice(data);
    out
}

/// The scramble in a switch's data: 20 bytes are followed by a NUL. Other plugins' data is returned whole.
pub fn scramble(data: &[u8]) -> &[u8] {
    match data {
        [scramble @ .., 0] if scramble.len() == 20 => scramble,
        _ => data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{self, cut_everywhere, hex};

    #[test]
    fn a_switch_carries_a_scramble() {
        let payload = hex(recorded::AUTH_SWITCH);
        let AuthPacket::Switch { plugin, data } = AuthPacket::decode(&payload) else { panic!("no switch") };
        assert_eq!(plugin, b"caching_sha2_password");
        assert_eq!((data.len(), scramble(data).len()), (21, 20));
        assert_eq!(scramble(scramble(data)).len(), 20);
        assert_eq!(encode_switch(plugin, data), payload);
        cut_everywhere(&payload, |cut| {
            AuthPacket::decode(cut);
        });
    }

    #[test]
    fn the_first_byte_tells() {
        for (payload, expected) in [
            (&b""[..], AuthPacket::Unknown),
            (b"\x00\x00\x00\x02\x00\x00\x00", AuthPacket::Ok),
            (b"\xFF\x15\x04", AuthPacket::Err),
            (b"\xFE", AuthPacket::OldSwitch),
            (b"\xFEdialog", AuthPacket::Switch { plugin: b"dialog", data: b"" }),
            (b"\x01\x03", AuthPacket::MoreData(b"\x03")),
            (b"\x02webauthn\0x", AuthPacket::NextFactor { plugin: b"webauthn", data: b"x" }),
            (b"\x03", AuthPacket::Unknown),
        ] {
            assert_eq!(AuthPacket::decode(payload), expected);
        }
        assert_eq!(encode_more_data(b"\x04"), b"\x01\x04");
    }
}
