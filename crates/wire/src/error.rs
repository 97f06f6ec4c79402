/// A payload that is not what its place in the protocol says it must be. The text names the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet: {0}")]
pub struct Malformed(pub &'static str);
