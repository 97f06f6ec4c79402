use std::ops::Range;

use crate::parameters::types_and_names;
use crate::{Capabilities, Fields, Malformed, Parameters};

/// COM_STMT_EXECUTE up to its values: where the types of its parameters are, or would be.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_stmt_execute.html>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execute {
    pub statement_id: u32,
    pub flags: u8,
    /// Parameters and, with QUERY_ATTRIBUTES, the attributes behind them.
    pub parameter_count: usize,
    /// None without parameters.
    pub bind_flag_offset: Option<usize>,
    /// The types, when the bind flag says that they are there.
    pub types: Option<Range<usize>>,
    pub layout: TypeLayout,
    pub values_offset: usize,
}

/// How one entry of the types looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeLayout {
    /// Two bytes: MariaDB, and MySQL without QUERY_ATTRIBUTES.
    Plain,
    /// Two bytes and a name, empty for a parameter: MySQL with QUERY_ATTRIBUTES, attributes or not.
    Named,
}

const COMMAND: u8 = 0x17;
const PARAMETER_COUNT_AVAILABLE: u8 = 0x08;
const CURSOR_TYPE_READ_ONLY: u8 = 0x01;

impl Execute {
    /// Whether an EXECUTE asks for a cursor. Servers look at no other of the cursor types.
    pub fn asks_for_cursor(payload: &[u8]) -> bool {
        const FLAGS: usize = 5;
        payload.get(FLAGS).is_some_and(|flags| flags & CURSOR_TYPE_READ_ONLY != 0)
    }

    /// `declared_params` is what the statement's [`crate::PrepareOk`] said. The values may be cut.
    pub fn decode(payload: &[u8], declared_params: u16, capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != COMMAND {
            return Err(Malformed("not a COM_STMT_EXECUTE"));
        }
        let statement_id = fields.u32()?;
        let flags = fields.u8()?;
        fields.u32()?; // iterations: always 1

        let (layout, parameter_count) = if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            let counted = declared_params > 0 || flags & PARAMETER_COUNT_AVAILABLE != 0;
            (TypeLayout::Named, if counted { fields.lenenc_int()? } else { 0 })
        } else {
            (TypeLayout::Plain, declared_params.into())
        };
        let parameter_count =
            usize::try_from(parameter_count).map_err(|_| Malformed("too many statement parameters"))?;

        let mut execute = Self {
            statement_id,
            flags,
            parameter_count,
            bind_flag_offset: None,
            types: None,
            layout,
            values_offset: fields.position(),
        };
        if parameter_count > 0 {
            fields.bytes(parameter_count.div_ceil(8))?;
            execute.bind_flag_offset = Some(fields.position());
            if fields.u8()? != 0 {
                let start = fields.position();
                layout.types(&mut fields, parameter_count)?;
                execute.types = Some(start..fields.position());
            }
            execute.values_offset = fields.position();
        }
        Ok(execute)
    }
}

impl Execute {
    /// The query attributes behind the parameters, as parameters of which the first `declared_params` are the statement's
    /// own. Only where they can be told: their names come with the types, and where the values of a parameter went as long
    /// data (which the packet does not show) nothing behind it can be found.
    pub fn attributes<'a>(&self, payload: &'a [u8], declared_params: u16) -> Option<(Parameters<'a>, usize)> {
        let own = usize::from(declared_params);
        if self.layout != TypeLayout::Named || self.parameter_count <= own {
            return None;
        }
        let types = payload.get(self.types.clone()?)?;
        let bind_flag = self.bind_flag_offset?;
        let nulls = payload.get(bind_flag.checked_sub(self.parameter_count.div_ceil(8))?..bind_flag)?;
        let values = payload.get(self.values_offset..)?;
        Some((Parameters::of(nulls, types, values), own))
    }
}

impl TypeLayout {
    fn types<'a>(self, fields: &mut Fields<'a>, count: usize) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Named => types_and_names(fields, count),
            Self::Plain => fields.bytes(count.saturating_mul(2)),
        }
    }
}

/// The payload with the bind flag set and `types` put in: for an execute that counts on the types of an earlier one which
/// never reached the server. The earlier one may have had attributes that this one has not; their types are left out, as
/// the server itself does. One with types of its own, without parameters, or with more of them than were kept, comes back
/// as it is: the server refuses the last (1835).
pub fn types_inserted(payload: &[u8], execute: &Execute, types: &[u8]) -> Vec<u8> {
    with_types(payload, execute, types).unwrap_or_else(|| payload.to_vec())
}

fn with_types(payload: &[u8], execute: &Execute, types: &[u8]) -> Option<Vec<u8>> {
    if execute.types.is_some() {
        return None;
    }
    let types = execute.layout.types(&mut Fields::new(types), execute.parameter_count).ok()?;
    let (head, [_flag, values @ ..]) = payload.split_at_checked(execute.bind_flag_offset?)? else { return None };
    Some([head, &[1], types, values].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::{self, cut_everywhere, hex};

    const NAMED: Capabilities = Capabilities::QUERY_ATTRIBUTES;
    const PLAIN: Capabilities = Capabilities::empty();

    #[test]
    fn attributes_stand_behind_the_parameters() {
        // One parameter, LONG 7, and the attribute job=etl.
        let payload = b"\x17\x01\0\0\0\x08\x01\0\0\0\x02\x00\x01\x03\x00\x00\xFE\x00\x03job\x07\0\0\0\x03etl";
        let execute = Execute::decode(payload, 1, NAMED).unwrap();
        let (parameters, own) = execute.attributes(payload, 1).unwrap();
        let named: Vec<_> = parameters.iter().skip(own).map(|attribute| (attribute.name, attribute.value)).collect();
        assert_eq!(named, [(&b"job"[..], Some(&b"etl"[..]))]);
        assert!(execute.attributes(payload, 2).is_none());
        for end in 0..payload.len() {
            let cut = &payload[..end];
            if let Ok(execute) = Execute::decode(cut, 1, NAMED) {
                let found = execute.attributes(cut, 1);
                assert!(found.is_none_or(|(parameters, own)| parameters.iter().skip(own).count() == 0), "{end}");
            }
        }
    }

    #[test]
    fn layouts() {
        for (name, payload, declared, capabilities, count, flag, types, values) in [
            // With QUERY_ATTRIBUTES agreed on the count and the names are there, whatever the flags say.
            ("Connector/Python", recorded::EXECUTE_NO_ATTRIBUTES, 2, NAMED, 2, Some(12), Some(13..19), 19),
            ("with an attribute", recorded::EXECUTE_ATTRIBUTES, 2, NAMED, 3, Some(12), Some(13..25), 25),
            (
                "MariaDB, or older",
                "17 01000000 00 01000000 00 01 0180 fe00 01 03616263",
                2,
                PLAIN,
                2,
                Some(11),
                Some(12..16),
                16,
            ),
            ("bound before", "17 01000000 00 01000000 00 00 01 03616263", 2, PLAIN, 2, Some(11), None, 12),
            ("bound before, named", "17 01000000 08 01000000 02 00 00 01 03616263", 2, NAMED, 2, Some(12), None, 13),
            ("no parameters", "17 01000000 00 01000000", 0, NAMED, 0, None, None, 10),
            ("no parameters, counted", "17 01000000 08 01000000 00", 0, NAMED, 0, None, None, 11),
            (
                "only an attribute",
                "17 01000000 08 01000000 01 00 01 fe00 0161 0162",
                0,
                NAMED,
                1,
                Some(12),
                Some(13..17),
                17,
            ),
            ("a flag without the capability", "17 ffffffff 09 01000000", 0, PLAIN, 0, None, None, 10),
        ] {
            let payload = hex(payload);
            let execute = Execute::decode(&payload, declared, capabilities).expect(name);
            assert_eq!(execute.parameter_count, count, "{name}");
            assert_eq!(execute.bind_flag_offset, flag, "{name}");
            assert_eq!(execute.types, types, "{name}");
            assert_eq!(execute.values_offset, values, "{name}");
            cut_everywhere(&payload, |cut| {
                let cut_ok = Execute::decode(cut, declared, capabilities).is_ok();
                assert_eq!(cut_ok, cut.len() >= values, "{name} cut at {}", cut.len());
            });
        }
    }

    #[test]
    fn kept_types_make_the_packet_that_was_refused() {
        for (full, declared, capabilities) in [
            (recorded::EXECUTE_NO_ATTRIBUTES, 2, NAMED),
            (recorded::EXECUTE_ATTRIBUTES, 2, NAMED),
            ("17 01000000 00 01000000 00 01 0180 fe00 01 03616263", 2, PLAIN),
        ] {
            let full = hex(full);
            let execute = Execute::decode(&full, declared, capabilities).unwrap();
            let (flag, types) = (execute.bind_flag_offset.unwrap(), execute.types.clone().unwrap());
            assert_eq!(types_inserted(&full, &execute, b"anything"), full, "has its own");

            let bare = [&full[..flag], &[0], &full[types.end..]].concat();
            let second = Execute::decode(&bare, declared, capabilities).unwrap();
            assert_eq!(types_inserted(&bare, &second, &full[types]), full);
        }
        // Tried on MySQL 9.7: types for three, of which one is an attribute, then an execute of two without types.
        let (bare, kept) = (hex("17 01000000 00 01000000 02 00 00 01 03616263"), hex("0180 00 fe00 00 fe00 036a6f62"));
        let execute = Execute::decode(&bare, 2, NAMED).unwrap();
        assert_eq!(types_inserted(&bare, &execute, &kept), hex(recorded::EXECUTE_NO_ATTRIBUTES));
        let too_many = hex("17 01000000 08 01000000 04 00 00 01 03616263");
        let execute = Execute::decode(&too_many, 2, NAMED).unwrap();
        assert_eq!(types_inserted(&too_many, &execute, &kept), too_many);
        let none = hex("17 01000000 00 01000000");
        let execute = Execute::decode(&none, 0, NAMED).unwrap();
        assert_eq!(types_inserted(&none, &execute, b"types"), none);
    }

    #[test]
    fn huge_counts_are_malformed() {
        for count in ["feffffffffffffffff", "fdffffff", "fb"] {
            let payload = hex(&format!("17 01000000 08 01000000 {count} 00 01 fe00"));
            assert!(Execute::decode(&payload, 1, NAMED).is_err());
        }
    }
}
