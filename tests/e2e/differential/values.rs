//! Parameters of the binary protocol.

use wire::{Capabilities, put_lenenc_bytes, put_lenenc_int};

/// One parameter: its type, with the bit for unsigned, and its value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null(u16),
    /// As many bytes as the type has.
    Fixed(u16, Vec<u8>),
    /// With a length in front.
    Bytes(u16, Vec<u8>),
    /// Sent ahead by COM_STMT_SEND_LONG_DATA: no value here.
    Long(u16),
}

impl Value {
    pub(crate) fn text(text: &str) -> Value {
        Value::Bytes(0xFD, text.as_bytes().to_vec())
    }

    pub(crate) fn int(value: i32) -> Value {
        Value::Fixed(3, value.to_le_bytes().to_vec())
    }

    fn kind(&self) -> u16 {
        match *self {
            Value::Null(kind) | Value::Fixed(kind, _) | Value::Bytes(kind, _) | Value::Long(kind) => kind,
        }
    }

    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null(_) | Value::Long(_) => {}
            Value::Fixed(_, bytes) => out.extend_from_slice(bytes),
            Value::Bytes(_, bytes) => put_lenenc_bytes(out, bytes),
        }
    }
}

/// What stands behind the byte of COM_STMT_EXECUTE.
pub(crate) fn execute_body(
    statement: u32,
    flags: u8,
    values: &[Value],
    types: bool,
    capabilities: Capabilities,
) -> Vec<u8> {
    let mut body = statement.to_le_bytes().to_vec();
    body.push(flags);
    body.extend_from_slice(&1u32.to_le_bytes());
    let named = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
    if values.is_empty() {
        return body;
    }
    if named {
        put_lenenc_int(&mut body, values.len() as u64);
    }
    put_nulls(&mut body, values.iter());
    body.push(types.into());
    if types {
        for value in values {
            body.extend_from_slice(&value.kind().to_le_bytes());
            if named {
                body.push(0);
            }
        }
    }
    values.iter().for_each(|value| value.put(&mut body));
    body
}

/// The query attributes in front of COM_QUERY's SQL, from the NULL bitmap on.
pub(crate) fn put_attributes(out: &mut Vec<u8>, attributes: &[(&str, Value)]) {
    put_nulls(out, attributes.iter().map(|(_, value)| value));
    out.push(1);
    for (name, value) in attributes {
        out.extend_from_slice(&value.kind().to_le_bytes());
        put_lenenc_bytes(out, name.as_bytes());
    }
    attributes.iter().for_each(|(_, value)| value.put(out));
}

fn put_nulls<'a>(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = &'a Value>) {
    let mut bitmap = vec![0u8; values.len().div_ceil(8)];
    for (index, value) in values.enumerate() {
        if matches!(value, Value::Null(_)) {
            bitmap[index / 8] |= 1 << (index % 8);
        }
    }
    out.extend_from_slice(&bitmap);
}
