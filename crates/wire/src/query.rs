use crate::{Capabilities, Fields, Malformed, Parameter, Parameters};

/// COM_QUERY: the SQL, and the query attributes in front of it.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// As far as it is in the payload that was given.
    pub sql: &'a [u8],
    /// Where it starts in the payload.
    pub sql_offset: usize,
    pub attributes: Option<Parameters<'a>>,
}

const COMMAND: u8 = 0x03;

impl<'a> Query<'a> {
    /// `payload` starts with the command byte and may be only the beginning of a long command: SQL that is cut is fine,
    /// attributes that are cut are malformed.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut fields = Fields::new(payload);
        if fields.u8()? != COMMAND {
            return Err(Malformed("not a COM_QUERY"));
        }
        let attributes =
            if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) { attributes(&mut fields)? } else { None };
        let sql_offset = fields.position();
        Ok(Self { sql: fields.rest(), sql_offset, attributes })
    }

    pub fn attributes(&self) -> impl Iterator<Item = Parameter<'a>> + use<'a> {
        self.attributes.into_iter().flat_map(|attributes| attributes.iter())
    }
}

fn attributes<'a>(fields: &mut Fields<'a>) -> Result<Option<Parameters<'a>>, Malformed> {
    let count = fields.lenenc_int()?;
    if fields.lenenc_int()? != 1 {
        return Err(Malformed("another number of parameter sets than one"));
    }
    if count == 0 {
        return Ok(None);
    }
    let count = usize::try_from(count).map_err(|_| Malformed("too many query attributes"))?;
    Parameters::decode(fields, count).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParameterType;
    use crate::recorded::{self, cut_everywhere, hex};

    const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

    #[test]
    fn plain_sql_starts_behind_the_command() {
        let query = Query::decode(b"\x03select 1", Capabilities::empty()).unwrap();
        assert_eq!((query.sql, query.sql_offset, query.attributes), (&b"select 1"[..], 1, None));
        assert!(Query::decode(b"\x16select 1", Capabilities::empty()).is_err());
    }

    #[test]
    fn the_mysql_client_sends_an_empty_list() {
        let payload = hex(recorded::QUERY_NO_ATTRIBUTES);
        let query = Query::decode(&payload, ATTRIBUTES).unwrap();
        assert_eq!((query.sql, query.sql_offset), (&b"select 1"[..], 3));
        assert_eq!(query.attributes().count(), 0);
    }

    #[test]
    fn attributes_are_walked_to_the_sql() {
        let payload = hex(recorded::QUERY_ATTRIBUTES);
        let query = Query::decode(&payload, ATTRIBUTES).unwrap();
        assert_eq!(query.sql, b"select 1");
        assert_eq!(&payload[query.sql_offset..], query.sql);
        let double = 1.5_f64.to_le_bytes();
        let expected =
            [(&b"job"[..], 0x00FE, Some(&b"etl"[..])), (b"n", 0x8001, Some(b"\x05")), (b"f", 0x0005, Some(&double))]
                .map(|(name, kind, value)| Parameter { name, kind: ParameterType(kind), value });
        assert_eq!(query.attributes().collect::<Vec<_>>(), expected);
        cut_everywhere(&payload, |cut| match Query::decode(cut, ATTRIBUTES) {
            Ok(query) => assert_eq!(query.sql_offset, payload.len() - 8),
            Err(_) => assert!(cut.len() < payload.len() - 8),
        });
    }

    #[test]
    fn null_attributes_have_no_value() {
        let payload = b"\x03\x02\x01\x01\x01\xFE\x00\x01a\xFE\x00\x01b\x02xyselect 1";
        let query = Query::decode(payload, ATTRIBUTES).unwrap();
        assert_eq!(query.sql, b"select 1");
        let values: Vec<_> = query.attributes().map(|attribute| attribute.value).collect();
        assert_eq!(values, [None, Some(&b"xy"[..])]);
    }

    #[test]
    fn what_the_server_refuses_or_reads_its_own_way_is_malformed() {
        for payload in [
            &b"\x03"[..],
            b"\x03\x00",
            b"\x03\x00\x00select 1",
            b"\x03\x00\x02select 1",
            b"\x03\xFB\x01select 1",
            b"\x03\x00\xFBselect 1",
            // No types to fall back to.
            b"\x03\x01\x01\x00\x00\x01aselect 1",
            // The server cuts these to 32 bits, and finds SQL behind them.
            b"\x03\xFE\x01\0\0\0\x01\0\0\0\x01\x00\x01\xFE\x00\x01a\x01xselect 1",
            b"\x03\x01\x01\x00\x01\xFE\x00\x01a\xFE\x01\0\0\0\x01\0\0\0xselect 1",
            b"\x03\x01\x01\x00\x01\xFE\x00\x01a\xFBselect 1",
        ] {
            assert!(Query::decode(payload, ATTRIBUTES).is_err(), "{payload:?}");
        }
        assert_eq!(Query::decode(b"\x03\x00\x01", ATTRIBUTES).unwrap().sql, b"");
    }
}
