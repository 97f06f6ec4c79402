use crate::login_request::put_short_bytes;
use crate::{Capabilities, Fields, Malformed, put_lenenc_bytes, put_nul_bytes};

/// COM_CHANGE_USER: a second login on a running session.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_change_user.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub auth_response: &'a [u8],
    /// Empty: none.
    pub database: &'a [u8],
    /// None from a client that ends its packet before it; then nothing else follows either.
    pub charset: Option<u16>,
    pub auth_plugin: Option<&'a [u8]>,
    pub attributes: Option<&'a [u8]>,
}

const COMMAND: u8 = 0x11;

impl<'a> ChangeUser<'a> {
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != COMMAND {
            return Err(Malformed("not a COM_CHANGE_USER"));
        }
        let user = fields.nul_bytes()?;
        // One byte even with PLUGIN_AUTH_LENENC_DATA, unlike in a login request.
        let length = fields.u8()?;
        let auth_response = fields.bytes(length.into())?;
        if fields.is_empty() {
            return Err(Malformed("a COM_CHANGE_USER without a database"));
        }
        let database = fields.nul_or_rest();
        let charset = fields.u16().ok();
        let sent = |capability, fields: &Fields<'_>| {
            charset.is_some() && capabilities.contains(capability) && !fields.is_empty()
        };
        let auth_plugin = sent(Capabilities::PLUGIN_AUTH, &fields).then(|| fields.nul_or_rest());
        let attributes = match sent(Capabilities::CONNECT_ATTRS, &fields) {
            true => Some(fields.lenenc_bytes()?),
            false => None,
        };
        Ok(Self { user, auth_response, database, charset, auth_plugin, attributes })
    }

    /// Without a charset nothing is written behind the database: give one to send a plugin or attributes.
    pub fn encode(&self, capabilities: Capabilities) -> Vec<u8> {
        let mut out = vec![COMMAND];
        put_nul_bytes(&mut out, self.user);
        put_short_bytes(&mut out, self.auth_response);
        put_nul_bytes(&mut out, self.database);
        let Some(charset) = self.charset else { return out };
        out.extend_from_slice(&charset.to_le_bytes());
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(&mut out, self.auth_plugin.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(&mut out, self.attributes.unwrap_or_default());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{self, cut_everywhere, hex};

    const BOTH: Capabilities = Capabilities::PLUGIN_AUTH.union(Capabilities::CONNECT_ATTRS);

    #[test]
    fn connector_python_changes_its_user() {
        let payload = hex(recorded::CHANGE_USER);
        let change = ChangeUser::decode(&payload, BOTH).unwrap();
        assert_eq!((change.user, change.database, change.charset), (&b"etl"[..], &b"test"[..], Some(255)));
        assert_eq!(change.auth_response.len(), 32);
        assert_eq!(change.auth_plugin, Some(&b"caching_sha2_password"[..]));
        assert_eq!(crate::attributes::iterate(change.attributes.unwrap()).filter(|pair| pair.is_ok()).count(), 7);
        assert_eq!(change.encode(BOTH), payload);
        cut_everywhere(&payload, |cut| {
            let _ = ChangeUser::decode(cut, BOTH);
        });
    }

    #[test]
    fn old_clients_stop_early() {
        for (rest, database, charset, plugin) in [
            (&b"\x11u\0\0\0"[..], &b""[..], None, None),
            (b"\x11u\0\0db\0", b"db", None, None),
            (b"\x11u\0\0db", b"db", None, None),
            (b"\x11u\0\0db\0\x21\0", b"db", Some(33), None),
            (b"\x11u\0\0db\0\x21\0plugin", b"db", Some(33), Some(&b"plugin"[..])),
        ] {
            let change = ChangeUser::decode(rest, BOTH).unwrap();
            assert_eq!((change.database, change.charset, change.auth_plugin), (database, charset, plugin));
            assert_eq!(change.attributes, None);
        }
        assert!(ChangeUser::decode(b"\x11u\0\0", BOTH).is_err());
        let change = ChangeUser::decode(b"\x11u\0\0db\0", BOTH).unwrap();
        assert_eq!(change.encode(BOTH), b"\x11u\0\0db\0");
    }
}
