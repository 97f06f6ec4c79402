use crate::{Capabilities, Fields, Malformed};

/// ERR: the end of a reply that failed. Code 0xFFFF is no error but MariaDB's progress report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    pub code: u16,
    /// None before the capabilities are agreed on, and from a server without PROTOCOL_41.
    pub sqlstate: Option<[u8; 5]>,
    pub message: &'a [u8],
}

const HEADER: u8 = 0xFF;

impl<'a> ErrPacket<'a> {
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != HEADER {
            return Err(Malformed("an ERR without its header"));
        }
        let code = fields.u16()?;
        let mut with_state = fields;
        let marked = with_state.u8() == Ok(b'#');
        if let (true, Ok(sqlstate)) = (marked, with_state.array()) {
            return Ok(Self { code, sqlstate: Some(sqlstate), message: with_state.rest() });
        }
        Ok(Self { code, sqlstate: None, message: fields.rest() })
    }

    /// A client without PROTOCOL_41 would show the state as part of the message.
    pub fn encode(code: u16, sqlstate: &[u8; 5], message: &str, capabilities: Capabilities) -> Vec<u8> {
        let mut out = vec![HEADER];
        out.extend_from_slice(&code.to_le_bytes());
        if capabilities.contains(Capabilities::PROTOCOL_41) {
            out.push(b'#');
            out.extend_from_slice(sqlstate);
        }
        out.extend_from_slice(message.as_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{self, cut_everywhere, hex};

    #[test]
    fn access_denied_comes_back() {
        let payload = hex(recorded::ACCESS_DENIED);
        let err = ErrPacket::decode(&payload).unwrap();
        assert_eq!((err.code, err.sqlstate), (1045, Some(*b"28000")));
        let message = str::from_utf8(err.message).unwrap();
        assert!(message.starts_with("Access denied for user"), "{message}");
        assert_eq!(ErrPacket::encode(1045, b"28000", message, Capabilities::PROTOCOL_41), payload);
        cut_everywhere(&payload, |cut| assert_eq!(ErrPacket::decode(cut).is_ok(), cut.len() >= 3));
    }

    #[test]
    fn without_protocol_41_there_is_no_state() {
        let payload = ErrPacket::encode(1040, b"08004", "Too many connections", Capabilities::empty());
        assert_eq!(
            ErrPacket::decode(&payload),
            Ok(ErrPacket { code: 1040, sqlstate: None, message: b"Too many connections" })
        );
        assert_eq!(
            ErrPacket::decode(b"\xFF\x10\x04#08"),
            Ok(ErrPacket { code: 1040, sqlstate: None, message: b"#08" })
        );
    }
}
