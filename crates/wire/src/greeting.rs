use crate::{Capabilities, Fields, Malformed, StatusFlags, put_nul_bytes};

/// HandshakeV10: the first packet of a server.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub version: Vec<u8>,
    pub connection_id: u32,
    pub scramble: [u8; 20],
    pub capabilities: Capabilities,
    pub charset: u8,
    pub status: StatusFlags,
    /// Empty from a server without PLUGIN_AUTH.
    pub auth_plugin: Vec<u8>,
}

const PROTOCOL_VERSION: u8 = 10;
const SCRAMBLE_HEAD: usize = 8;
/// The rest of the scramble and its NUL; servers send this much whatever the length field says.
const SCRAMBLE_TAIL: usize = 13;

impl Greeting {
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != PROTOCOL_VERSION {
            return Err(Malformed("a greeting of another protocol version than 10"));
        }
        let version = fields.nul_bytes()?.to_vec();
        let connection_id = fields.u32()?;
        let head: [u8; SCRAMBLE_HEAD] = fields.array()?;
        fields.u8()?;
        let lower = fields.u16()?;
        let charset = fields.u8()?;
        let status = StatusFlags::from_bits_retain(fields.u16()?);
        let upper = fields.u16()?;
        let auth_data = usize::from(fields.u8()?);
        fields.bytes(6)?;
        let capabilities = Capabilities::from_fields(u32::from(upper) << 16 | u32::from(lower), fields.array()?);

        let tail = auth_data.saturating_sub(SCRAMBLE_HEAD).max(SCRAMBLE_TAIL).min(fields.remaining());
        let tail = fields.bytes(tail)?.first_chunk::<12>().ok_or(Malformed("a scramble shorter than 20 bytes"))?;
        let mut scramble = [0; 20];
        scramble[..SCRAMBLE_HEAD].copy_from_slice(&head);
        scramble[SCRAMBLE_HEAD..].copy_from_slice(tail);

        let auth_plugin = if capabilities.contains(Capabilities::PLUGIN_AUTH) { fields.nul_or_rest() } else { b"" };
        Ok(Self { version, connection_id, scramble, capabilities, charset, status, auth_plugin: auth_plugin.to_vec() })
    }

    pub fn encode(&self) -> Vec<u8> {
        let ([a, b, c, d], extended) = self.capabilities.halves();
        let plugin_auth = self.capabilities.contains(Capabilities::PLUGIN_AUTH);
        let mut out = vec![PROTOCOL_VERSION];
        put_nul_bytes(&mut out, &self.version);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(&self.scramble[..SCRAMBLE_HEAD]);
        out.push(0);
        out.extend_from_slice(&[a, b, self.charset]);
        out.extend_from_slice(&self.status.bits().to_le_bytes());
        out.extend_from_slice(&[c, d, if plugin_auth { 21 } else { 0 }]);
        out.extend_from_slice(&[0; 6]);
        // A MySQL client reads these four as filler.
        let mariadb = !self.capabilities.contains(Capabilities::LONG_PASSWORD);
        out.extend_from_slice(if mariadb { &extended } else { &[0; 4] });
        out.extend_from_slice(&self.scramble[SCRAMBLE_HEAD..]);
        out.push(0);
        if plugin_auth {
            put_nul_bytes(&mut out, &self.auth_plugin);
        }
        out
    }

    /// MariaDB leaves LONG_PASSWORD out since 10.2; its version text tells the older ones (the text alone can be configured).
    pub fn is_mariadb(&self) -> bool {
        !self.capabilities.contains(Capabilities::LONG_PASSWORD)
            || memchr::memmem::find(&self.version, b"MariaDB").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{self, cut_everywhere, hex};

    #[test]
    fn mysql_9_greets() {
        let payload = hex(recorded::GREETING);
        let greeting = Greeting::decode(&payload).unwrap();
        assert_eq!(greeting.version, b"9.7.4-2");
        assert_eq!(greeting.connection_id, 0x78);
        assert_eq!(greeting.charset, 255);
        assert_eq!(greeting.status, StatusFlags::AUTOCOMMIT);
        assert_eq!(greeting.auth_plugin, b"caching_sha2_password");
        assert_eq!(greeting.scramble.to_vec(), hex("34604a073c7e2d1d 6b7c763d0476275d572b766a"));
        assert!(greeting.capabilities.contains(Capabilities::SSL | Capabilities::QUERY_ATTRIBUTES));
        assert!(!greeting.is_mariadb());
        assert_eq!(greeting.encode(), payload);
    }

    #[test]
    fn mariadb_greets_with_extended_capabilities() {
        let payload = hex(recorded::MARIADB_GREETING);
        let greeting = Greeting::decode(&payload).unwrap();
        assert!(greeting.is_mariadb());
        assert!(greeting.capabilities.contains(Capabilities::MARIADB_CACHE_METADATA));
        assert_eq!(greeting.auth_plugin, b"mysql_native_password");
        assert_eq!(greeting.encode(), payload);
    }

    #[test]
    fn a_server_without_plugin_auth_greets() {
        let greeting = Greeting {
            version: b"5.1.73".to_vec(),
            connection_id: 7,
            scramble: *b"abcdefghijklmnopqrst",
            capabilities: Capabilities::LONG_PASSWORD | Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION,
            charset: 8,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: Vec::new(),
        };
        assert_eq!(Greeting::decode(&greeting.encode()), Ok(greeting));
    }

    #[test]
    fn odd_lengths_of_auth_data_do_not_panic() {
        let payload = hex(recorded::GREETING);
        let length_at = 1 + 8 + 4 + 8 + 1 + 2 + 1 + 2 + 2;
        assert_eq!(payload[length_at], 21);
        for length in 0..=255 {
            let mut odd = payload.clone();
            odd[length_at] = length;
            let greeting = Greeting::decode(&odd).unwrap();
            assert_eq!(greeting.scramble[8..], hex("6b7c763d0476275d572b766a"));
        }
    }

    #[test]
    fn a_cut_greeting_is_malformed_or_lacks_only_its_plugin() {
        let payload = hex(recorded::GREETING);
        cut_everywhere(&payload, |cut| {
            if let Ok(greeting) = Greeting::decode(cut) {
                assert_eq!(greeting.scramble[19], b'j');
            }
        });
        assert!(Greeting::decode(&payload[..payload.len() - 24]).is_err());
        assert!(Greeting::decode(b"\xFF\x10\x04Too many connections").is_err());
    }
}
