use crate::{Capabilities, Fields, Malformed, put_lenenc_bytes, put_nul_bytes};

/// A client's answer to the greeting: either it asks for TLS first, or it logs in.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_response.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginPacket<'a> {
    SslRequest(SslRequest),
    Login(LoginRequest<'a>),
}

/// The start of a login request, sent in plain text before TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SslRequest {
    pub capabilities: Capabilities,
    pub max_packet: u32,
    pub charset: u8,
    pub filler: [u8; 23],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginRequest<'a> {
    /// With MariaDB's extended ones, which travel in the last four bytes of the filler.
    pub capabilities: Capabilities,
    pub max_packet: u32,
    pub charset: u8,
    pub filler: [u8; 23],
    /// Without the quotes that the servers take off.
    pub user: &'a [u8],
    pub auth_response: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub auth_plugin: Option<&'a [u8]>,
    /// The block without its total length; see [`crate::attributes`].
    pub attributes: Option<&'a [u8]>,
    pub compression_level: Option<u8>,
}

impl<'a> LoginPacket<'a> {
    /// As tolerant as the servers are: a capability without its field decodes as None, and the NUL of the last string may
    /// be missing. Exactly 32 bytes with SSL is the request for TLS, anything longer a login.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let start = SslRequest::decode(&mut fields)?;
        if fields.is_empty() && start.capabilities.contains(Capabilities::SSL) {
            return Ok(Self::SslRequest(start));
        }
        LoginRequest::decode(start, fields).map(Self::Login)
    }
}

impl SslRequest {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let lower = fields.u32()?;
        if !Capabilities::from_bits_retain(lower.into()).contains(Capabilities::PROTOCOL_41) {
            return Err(Malformed("a login request from before protocol 4.1"));
        }
        let max_packet = fields.u32()?;
        let charset = fields.u8()?;
        let filler: [u8; 23] = fields.array()?;
        let [.., a, b, c, d] = filler;
        Ok(Self { capabilities: Capabilities::from_fields(lower, [a, b, c, d]), max_packet, charset, filler })
    }

    pub fn encode(&self) -> Vec<u8> {
        let (lower, extended) = self.capabilities.halves();
        let mut out = Vec::with_capacity(32);
        out.extend_from_slice(&lower);
        out.extend_from_slice(&self.max_packet.to_le_bytes());
        out.push(self.charset);
        if self.capabilities.contains(Capabilities::LONG_PASSWORD) {
            out.extend_from_slice(&self.filler);
        } else {
            out.extend_from_slice(&self.filler[..19]);
            out.extend_from_slice(&extended);
        }
        out
    }
}

impl<'a> LoginRequest<'a> {
    fn decode(start: SslRequest, mut fields: Fields<'a>) -> Result<Self, Malformed> {
        let SslRequest { capabilities, max_packet, charset, filler } = start;
        let user = without_quotes(fields.nul_bytes()?);
        let auth_response = if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            fields.lenenc_bytes()?
        } else {
            // MySQL reads it so with and without SECURE_CONNECTION.
            let length = fields.u8()?;
            fields.bytes(length.into())?
        };
        let sent = |capability, fields: &Fields<'_>| capabilities.contains(capability) && !fields.is_empty();
        let database = sent(Capabilities::CONNECT_WITH_DB, &fields).then(|| fields.nul_or_rest());
        let auth_plugin = sent(Capabilities::PLUGIN_AUTH, &fields).then(|| fields.nul_or_rest());
        let attributes = match sent(Capabilities::CONNECT_ATTRS, &fields) {
            true => Some(fields.lenenc_bytes()?),
            false => None,
        };
        let compression_level = match sent(Capabilities::ZSTD_COMPRESSION, &fields) {
            true => Some(fields.u8()?),
            false => None,
        };
        Ok(Self {
            capabilities,
            max_packet,
            charset,
            filler,
            user,
            auth_response,
            database,
            auth_plugin,
            attributes,
            compression_level,
        })
    }

    /// The capabilities decide which fields are written; one that is None is written empty, since MySQL refuses a request
    /// that ends before its attributes.
    pub fn encode(&self) -> Vec<u8> {
        let Self { capabilities, max_packet, charset, filler, .. } = *self;
        let mut out = SslRequest { capabilities, max_packet, charset, filler }.encode();
        put_nul_bytes(&mut out, self.user);
        if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            put_lenenc_bytes(&mut out, self.auth_response);
        } else {
            put_short_bytes(&mut out, self.auth_response);
        }
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(&mut out, self.database.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(&mut out, self.auth_plugin.unwrap_or_default());
        }
        if capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(&mut out, self.attributes.unwrap_or_default());
        }
        if let (true, Some(level)) = (capabilities.contains(Capabilities::ZSTD_COMPRESSION), self.compression_level) {
            out.push(level);
        }
        out
    }
}

/// One byte of length. What does not fit is cut: the packet stays well-formed, and the server refuses the proof.
pub(crate) fn put_short_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    out.push(length);
    out.extend_from_slice(&bytes[..length.into()]);
}

/// MySQL and MariaDB take a pair of quotes off the name in a login request, and of no other (checked): `'app'` is `app`.
fn without_quotes(user: &[u8]) -> &[u8] {
    user.strip_prefix(b"'").and_then(|rest| rest.strip_suffix(b"'")).unwrap_or(user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attributes;
    use crate::recorded::{self, cut_everywhere, hex};

    fn login(payload: &[u8]) -> LoginRequest<'_> {
        match LoginPacket::decode(payload) {
            Ok(LoginPacket::Login(login)) => login,
            other => panic!("no login: {other:?}"),
        }
    }

    #[test]
    fn real_clients_log_in() {
        for (client, recorded, name) in [
            ("mysql", recorded::MYSQL_LOGIN, &b"libmysql"[..]),
            ("PyMySQL", recorded::PYMYSQL_LOGIN, b"pymysql"),
            ("Connector/Python", recorded::CONNECTOR_PYTHON_LOGIN, b"mysql-connector-python"),
        ] {
            let payload = hex(recorded);
            let login = login(&payload);
            assert_eq!(login.user, b"app", "{client}");
            assert_eq!(login.database, Some(&b"test"[..]), "{client}");
            assert_eq!(login.auth_response.len(), 32, "{client}");
            assert_eq!(login.auth_plugin, Some(&b"caching_sha2_password"[..]), "{client}");
            let told = attributes::iterate(login.attributes.unwrap()).map(Result::unwrap);
            assert!(told.into_iter().any(|pair| pair == (b"_client_name", name)), "{client}");
            assert_eq!(login.encode(), payload, "{client}");
            cut_everywhere(&payload, |cut| {
                let _ = LoginPacket::decode(cut);
            });
        }
    }

    #[test]
    fn quotes_are_no_part_of_the_name() {
        for (sent, known) in
            [("'app'", "app"), ("app", "app"), ("''", ""), ("'", "'"), ("'app", "'app"), ("''app''", "'app'")]
        {
            let payload = hex(recorded::PYMYSQL_LOGIN);
            let login = LoginRequest { user: sent.as_bytes(), ..login(&payload) };
            let encoded = login.encode();
            let LoginPacket::Login(decoded) = LoginPacket::decode(&encoded).unwrap() else { panic!("no login") };
            assert_eq!(decoded.user, known.as_bytes(), "{sent}");
        }
    }

    #[test]
    fn a_request_for_tls_is_exactly_the_start() {
        let payload = hex(recorded::SSL_REQUEST);
        let Ok(LoginPacket::SslRequest(request)) = LoginPacket::decode(&payload) else { panic!("no SSL request") };
        assert_eq!((request.charset, request.max_packet), (255, 1 << 24));
        assert_eq!(request.encode(), payload);
        cut_everywhere(&payload, |cut| assert!(LoginPacket::decode(cut).is_err()));
    }

    /// A 4.1 start with these capabilities, and what follows it.
    fn request(capabilities: Capabilities, rest: &[u8]) -> Vec<u8> {
        let capabilities = capabilities | Capabilities::PROTOCOL_41;
        let mut payload = SslRequest { capabilities, max_packet: 0, charset: 33, filler: [0; 23] }.encode();
        payload.extend_from_slice(rest);
        payload
    }

    #[test]
    fn capabilities_without_their_fields_are_tolerated() {
        let base = Capabilities::LONG_PASSWORD | Capabilities::SECURE_CONNECTION;
        let all = base | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS | Capabilities::CONNECT_WITH_DB;
        for (capabilities, rest, database, plugin, attributes) in [
            (base, &b"u\0\x01p"[..], None, None, None),
            (all, b"u\0\x01p", None, None, None),
            (all, b"u\0\x01pdb", Some(&b"db"[..]), None, None),
            (all, b"u\0\x01p\0", Some(b""), None, None),
            (all, b"u\0\x01pdb\0plugin", Some(b"db"), Some(&b"plugin"[..]), None),
            (all, b"u\0\x01pdb\0plugin\0", Some(b"db"), Some(b"plugin"), None),
            (all, b"u\0\x01pdb\0plugin\0\0", Some(b"db"), Some(b"plugin"), Some(&b""[..])),
            // A plugin name from a client that forgot to say so.
            (base, b"u\0\x01pplugin\0", None, None, None),
        ] {
            let payload = request(capabilities, rest);
            let login = login(&payload);
            assert_eq!((login.user, login.auth_response), (&b"u"[..], &b"p"[..]));
            assert_eq!(
                (login.database, login.auth_plugin, login.attributes),
                (database, plugin, attributes),
                "{rest:?}"
            );
        }
        let lying = request(all, b"u\0\0db\0plugin\0\x05abc");
        assert!(LoginPacket::decode(&lying).is_err(), "attributes that are cut");
    }

    #[test]
    fn fields_that_are_none_are_written_empty() {
        let all = Capabilities::LONG_PASSWORD | Capabilities::PLUGIN_AUTH | Capabilities::CONNECT_ATTRS;
        let payload = request(all, b"u\0\0");
        assert_eq!(login(&payload).encode(), request(all, b"u\0\0\0\0"));
    }

    #[test]
    fn before_4_1_is_malformed() {
        let mut payload = request(Capabilities::LONG_PASSWORD, b"u\0\0");
        payload[1] = 0;
        assert!(LoginPacket::decode(&payload).is_err());
    }

    #[test]
    fn mariadb_capabilities_live_in_the_filler() {
        let bulk = Capabilities::MARIADB_STMT_BULK_OPERATIONS | Capabilities::MARIADB_CACHE_METADATA;
        let payload = request(bulk, b"u\0\0");
        assert_eq!(payload[28..32], [0x14, 0, 0, 0]);
        let mut login = login(&payload);
        assert!(login.capabilities.contains(bulk));
        assert_eq!(login.encode(), payload);
        login.capabilities.remove(Capabilities::MARIADB_CACHE_METADATA);
        assert_eq!(login.encode()[28..32], [0x04, 0, 0, 0]);

        let mysql = request(Capabilities::LONG_PASSWORD | bulk, b"u\0\0");
        assert_eq!(mysql[28..32], [0; 4], "a MySQL client has no such field");
    }

    #[test]
    fn the_compression_level_is_last() {
        let payload = request(Capabilities::LONG_PASSWORD | Capabilities::ZSTD_COMPRESSION, b"u\0\0\x03");
        assert_eq!(login(&payload).compression_level, Some(3));
        assert_eq!(login(&payload).encode(), payload);
    }
}
