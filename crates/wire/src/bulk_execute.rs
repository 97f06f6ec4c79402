use crate::{Fields, Malformed};

/// COM_STMT_BULK_EXECUTE of MariaDB, up to its rows: many executions in one command.
///
/// <https://mariadb.com/kb/en/com_stmt_bulk_execute/>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkExecute<'a> {
    /// Two bytes a parameter, laid out as in an EXECUTE without names; None when the server has them already.
    pub types: Option<&'a [u8]>,
    head: &'a [u8],
    flags: u16,
    rows: &'a [u8],
    params: usize,
}

const COMMAND: u8 = 0xFA;
const SEND_TYPES: u16 = 1 << 7;

impl<'a> BulkExecute<'a> {
    /// `declared_params` is what the statement's [`crate::PrepareOk`] said. The rows may be cut.
    pub fn decode(payload: &'a [u8], declared_params: u16) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        let head = fields.bytes(5)?;
        if head.first() != Some(&COMMAND) {
            return Err(Malformed("not a COM_STMT_BULK_EXECUTE"));
        }
        let flags = fields.u16()?;
        let params = usize::from(declared_params);
        let types = if flags & SEND_TYPES != 0 { Some(fields.bytes(params * 2)?) } else { None };
        Ok(Self { types, head, flags, rows: fields.rest(), params })
    }

    /// The payload with the types of an earlier execution that never reached the server. None: it has its own, or these
    /// are not its.
    pub fn with_types(&self, types: &[u8]) -> Option<Vec<u8>> {
        if self.types.is_some() || types.len() != self.params * 2 {
            return None;
        }
        Some([self.head, &(self.flags | SEND_TYPES).to_le_bytes(), types, self.rows].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{cut_everywhere, hex};

    #[test]
    fn kept_types_make_the_packet_that_was_refused() {
        let full = hex("fa 01000000 8000 0300 fd00 00 07000000 00 0161");
        let bare = hex("fa 01000000 0000 00 07000000 00 0161");
        let types = BulkExecute::decode(&full, 2).unwrap().types.unwrap();
        assert_eq!(types, hex("0300 fd00"));
        let second = BulkExecute::decode(&bare, 2).unwrap();
        assert_eq!(second.types, None);
        assert_eq!(second.with_types(types), Some(full.clone()));
        assert_eq!(second.with_types(&types[..2]), None, "of another statement");
        assert_eq!(BulkExecute::decode(&full, 2).unwrap().with_types(types), None, "has its own");
        cut_everywhere(&full[..11], |cut| assert!(BulkExecute::decode(cut, 2).is_err()));
        assert!(BulkExecute::decode(&full[..11], 2).is_ok());
    }
}
