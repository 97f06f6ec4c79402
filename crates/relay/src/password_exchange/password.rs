use super::ExchangeError;
use std::fmt;
use zeroize::Zeroizing;

/// A password on its way through: never shown by `Debug`, not cloned, and overwritten when dropped. (Copies that the socket
/// and TLS buffers hold are beyond our reach.)
pub struct Password(Zeroizing<Vec<u8>>);

impl Password {
    /// A password without its trailing NUL.
    pub fn new(bytes: Vec<u8>) -> Password {
        Password(Zeroizing::new(bytes))
    }

    /// A password as clients send it in clear over TLS, with its trailing NUL.
    pub fn from_nul_terminated(bytes: &[u8]) -> Result<Password, ExchangeError> {
        let password = bytes.strip_suffix(&[0]).ok_or(ExchangeError::NoTrailingNul)?;
        Ok(Password::new(password.to_vec()))
    }

    /// Without the trailing NUL.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As it is sent in clear over TLS. The returned bytes, too, are overwritten when dropped.
    pub fn nul_terminated(&self) -> Zeroizing<Vec<u8>> {
        // Of the full size from the start: growing would leave a copy behind.
        let mut out = Zeroizing::new(Vec::with_capacity(self.0.len() + 1));
        out.extend_from_slice(&self.0);
        out.push(0);
        out
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}
