use crate::{Fields, Malformed};

/// Named parameters of the binary protocol: the query attributes in front of COM_QUERY's SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters<'a> {
    nulls: &'a [u8],
    types: &'a [u8],
    values: &'a [u8],
}

/// One of them. `value` is without the length in front of it, and None for NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    pub name: &'a [u8],
    pub kind: ParameterType,
    pub value: Option<&'a [u8]>,
}

/// A type of the binary protocol (MYSQL_TYPE_), with its unsigned bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterType(pub u16);

impl<'a> Parameters<'a> {
    /// Reads from the NULL bitmap to the end of the values, so that what follows them is found.
    pub(crate) fn decode(fields: &mut Fields<'a>, count: usize) -> Result<Self, Malformed> {
        let nulls = fields.bytes(count.div_ceil(8))?;
        if fields.u8()? == 0 {
            return Err(Malformed("query attributes without their types"));
        }
        let types = types_and_names(fields, count)?;
        let mut walk = Walk { nulls, index: 0, types: Fields::new(types), values: *fields };
        for parameter in &mut walk {
            parameter?;
        }
        let values = fields.bytes(walk.values.position() - fields.position())?;
        Ok(Self { nulls, types, values })
    }

    /// From its parts; what does not fit together ends the iteration early.
    pub(crate) fn of(nulls: &'a [u8], types: &'a [u8], values: &'a [u8]) -> Self {
        Self { nulls, types, values }
    }

    pub fn iter(&self) -> impl Iterator<Item = Parameter<'a>> + use<'a> {
        let walk =
            Walk { nulls: self.nulls, index: 0, types: Fields::new(self.types), values: Fields::new(self.values) };
        // None is malformed where `decode` has walked them.
        walk.map_while(Result::ok)
    }
}

impl ParameterType {
    const UNSIGNED: u16 = 1 << 15;

    pub fn code(self) -> u16 {
        self.0 & !Self::UNSIGNED
    }

    pub fn is_unsigned(self) -> bool {
        self.0 & Self::UNSIGNED != 0
    }

    /// As MySQL 9.7 reads it, tried with every type: the other 15 bits count as a whole (0x4001 is no TINY), and whatever
    /// has no fixed length has a length in front, also INT24, YEAR and NULL. Reading it otherwise than the server would
    /// let a client show us another SQL text than the one that runs.
    fn read_value<'a>(self, values: &mut Fields<'a>) -> Result<&'a [u8], Malformed> {
        match self.code() {
            1 => values.bytes(1),     // TINY
            2 => values.bytes(2),     // SHORT
            3 | 4 => values.bytes(4), // LONG, FLOAT
            5 | 8 => values.bytes(8), // DOUBLE, LONGLONG
            244 => Err(Malformed("a parameter of type BOOL")),
            _ => values.lenenc_bytes(),
        }
    }
}

/// The bytes of `count` types, each with the name behind it.
pub(crate) fn types_and_names<'a>(fields: &mut Fields<'a>, count: usize) -> Result<&'a [u8], Malformed> {
    let mut end = *fields;
    for _ in 0..count {
        end.u16()?;
        end.lenenc_bytes()?;
    }
    fields.bytes(end.position() - fields.position())
}

/// Types and values side by side.
struct Walk<'a> {
    nulls: &'a [u8],
    index: usize,
    types: Fields<'a>,
    values: Fields<'a>,
}

impl<'a> Walk<'a> {
    fn parameter(&mut self) -> Result<Parameter<'a>, Malformed> {
        let kind = ParameterType(self.types.u16()?);
        let name = self.types.lenenc_bytes()?;
        let null = self.nulls.get(self.index / 8).is_some_and(|byte| byte & 1 << (self.index % 8) != 0);
        self.index += 1;
        let value = if null { None } else { Some(kind.read_value(&mut self.values)?) };
        Ok(Parameter { name, kind, value })
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Parameter<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.types.is_empty() { None } else { Some(self.parameter()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_long_as_the_server_reads_them() {
        // Tried on MySQL 9.7: one attribute of the type, the value `05 a b c …`; its syntax error tells where SQL began.
        for (kind, length) in [
            (0x0001, Some(1)),
            (0x8001, Some(1)),
            (0x4001, Some(6)),
            (0x0101, Some(6)),
            (0x0002, Some(2)),
            (0x0003, Some(4)),
            (0x0004, Some(4)),
            (0x0005, Some(8)),
            (0x0006, Some(6)),
            (0x0008, Some(8)),
            (0x8008, Some(8)),
            (0x0009, Some(6)),
            (0x000D, Some(6)),
            (0x00F4, None),
            (0x80F4, None),
            (0x40F4, Some(6)),
            (0x00FE, Some(6)),
        ] {
            let mut fields = Fields::new(b"\x05abcdefghij");
            let read = ParameterType(kind).read_value(&mut fields);
            assert_eq!(read.is_ok().then(|| fields.position()), length, "{kind:#x}");
        }
    }
}
