//! The RSA part of `caching_sha2_password` and `sha256_password`: how a password travels over a leg without TLS.
//! The password and its trailing NUL are XORed with the 20-byte scramble, repeated, and encrypted with RSA-OAEP (SHA-1).
//!
//! Where only the upstream leg is TLS the proxy plays the server: [`ProxyKey`]. Where only the client leg is, it plays the
//! client: [`encrypt`]. No password is ever logged or kept: read [`Password`] first.
//!
//! What can be seen from outside: answer every failed [`ProxyKey::decrypt`] as a wrong password and in no other way, or the
//! difference tells an attacker about a recorded ciphertext (Manger's attack on OAEP).

mod password;
mod public_key;

pub use password::Password;

use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use std::fmt;
use zeroize::Zeroizing;

/// The length of a scramble without the NUL that follows it in the packets.
pub const SCRAMBLE_LENGTH: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    #[error("no RSA key could be made for the password exchange")]
    NoKey,
    #[error("the scramble has {0} bytes instead of {SCRAMBLE_LENGTH}")]
    ScrambleLength(usize),
    #[error("the encrypted password has {found} bytes instead of the key's {expected}")]
    CiphertextLength { found: usize, expected: usize },
    #[error("the encrypted password was not made with this key and scramble")]
    Undecryptable,
    #[error("the password does not end in a NUL byte")]
    NoTrailingNul,
    #[error("the server's public key is not an RSA key of 2048 to 8192 bits in PEM")]
    BadPublicKey,
    #[error(
        "the password has {length} bytes, and the server's RSA key carries at most {limit}; use TLS between the proxy and the server"
    )]
    PasswordTooLong { length: usize, limit: usize },
    #[error("the password could not be encrypted with the server's public key")]
    Encryption,
}

/// The key that clients of a leg without TLS encrypt their password with. One serves the whole process.
pub struct ProxyKey {
    key: OaepPrivateDecryptingKey,
    public_key_pem: Vec<u8>,
}

impl ProxyKey {
    /// Makes a new 2048-bit key, as `mysqld` does. Takes up to a second of processor time: call it once, at start.
    pub fn generate() -> Result<ProxyKey, ExchangeError> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(|_| ExchangeError::NoKey)?;
        let public_key_pem = public_key::to_pem(&key.public_key()).ok_or(ExchangeError::NoKey)?;
        let key = OaepPrivateDecryptingKey::new(key).map_err(|_| ExchangeError::NoKey)?;
        Ok(ProxyKey { key, public_key_pem })
    }

    /// The answer to a client's public-key request, without the leading 0x01 of the AuthMoreData packet.
    pub fn public_key_pem(&self) -> &[u8] {
        &self.public_key_pem
    }

    /// The password that a client encrypted for `scramble`, the 20 bytes that the client was last sent.
    /// About a millisecond of processor time.
    pub fn decrypt(&self, ciphertext: &[u8], scramble: &[u8]) -> Result<Password, ExchangeError> {
        let scramble = checked(scramble)?;
        let expected = self.key.key_size_bytes();
        if ciphertext.len() != expected {
            return Err(ExchangeError::CiphertextLength { found: ciphertext.len(), expected });
        }
        let mut buffer = Zeroizing::new(vec![0; self.key.min_output_size()]);
        let plain = self
            .key
            .decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut buffer, None)
            .map_err(|_| ExchangeError::Undecryptable)?;
        xor(plain, scramble);
        Password::from_nul_terminated(plain)
    }
}

impl fmt::Debug for ProxyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyKey").finish_non_exhaustive()
    }
}

/// The password as the server of `server_public_key_pem` expects it after having sent `scramble` (20 bytes).
pub fn encrypt(server_public_key_pem: &[u8], password: &Password, scramble: &[u8]) -> Result<Vec<u8>, ExchangeError> {
    let scramble = checked(scramble)?;
    let key = public_key::from_pem(server_public_key_pem)?;
    let limit = key.max_plaintext_size(&OAEP_SHA1_MGF1SHA1).saturating_sub(1);
    let length = password.as_bytes().len();
    if length > limit {
        return Err(ExchangeError::PasswordTooLong { length, limit });
    }
    let mut plain = password.nul_terminated();
    xor(&mut plain, scramble);
    let mut ciphertext = vec![0; key.ciphertext_size()];
    let written =
        key.encrypt(&OAEP_SHA1_MGF1SHA1, &plain, &mut ciphertext, None).map_err(|_| ExchangeError::Encryption)?.len();
    ciphertext.truncate(written);
    Ok(ciphertext)
}

fn checked(scramble: &[u8]) -> Result<&[u8; SCRAMBLE_LENGTH], ExchangeError> {
    scramble.try_into().map_err(|_| ExchangeError::ScrambleLength(scramble.len()))
}

/// `xor_string` of the server's sources: every byte, the trailing NUL included.
fn xor(bytes: &mut [u8], scramble: &[u8; SCRAMBLE_LENGTH]) {
    for (byte, with) in bytes.iter_mut().zip(scramble.iter().cycle()) {
        *byte ^= with;
    }
}

#[cfg(test)]
mod tests;
