use crate::{Capabilities, Fields, Malformed};

/// COM_STMT_PREPARE_OK: a prepared statement's id, and how many definitions follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrepareOk {
    pub statement_id: u32,
    pub columns: u16,
    pub params: u16,
    /// False only with OPTIONAL_RESULTSET_METADATA and `resultset_metadata = NONE`: then no definitions follow.
    pub metadata_follows: bool,
}

impl PrepareOk {
    pub fn decode(payload: &[u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != 0 {
            return Err(Malformed("a prepare OK without its header"));
        }
        let statement_id = fields.u32()?;
        let columns = fields.u16()?;
        let params = fields.u16()?;
        // A filler byte and the warning count. MariaDB stops here, and never has this capability.
        fields.array::<3>()?;
        let optional = capabilities.contains(Capabilities::OPTIONAL_RESULTSET_METADATA);
        let metadata_follows = if optional { fields.u8()? != 0 } else { true };
        Ok(Self { statement_id, columns, params, metadata_follows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{self, cut_everywhere, hex};

    #[test]
    fn a_prepared_statement_tells_its_id_and_counts() {
        let payload = hex(recorded::PREPARE_OK);
        let expected = PrepareOk { statement_id: 1, columns: 2, params: 2, metadata_follows: true };
        assert_eq!(PrepareOk::decode(&payload, Capabilities::empty()), Ok(expected));
        cut_everywhere(&payload, |cut| assert!(PrepareOk::decode(cut, Capabilities::empty()).is_err()));
    }

    #[test]
    fn metadata_is_optional_when_agreed_on() {
        let mut payload = hex(recorded::PREPARE_OK);
        payload.push(0);
        let optional = Capabilities::OPTIONAL_RESULTSET_METADATA;
        assert!(!PrepareOk::decode(&payload, optional).unwrap().metadata_follows);
        payload[12] = 1;
        assert!(PrepareOk::decode(&payload, optional).unwrap().metadata_follows);
        cut_everywhere(&payload, |cut| assert!(PrepareOk::decode(cut, optional).is_err()));
    }
}
