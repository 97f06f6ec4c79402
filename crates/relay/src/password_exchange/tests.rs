use super::*;
use std::sync::LazyLock;

/// Making a key is the slow part of these tests.
static KEY: LazyLock<ProxyKey> = LazyLock::new(|| ProxyKey::generate().unwrap());
const SCRAMBLE: &[u8; SCRAMBLE_LENGTH] = b"\x01abcdefghij\x7fklmnopqr";

/// As MySQL 9.7.4 sends it (the key of a throw-away server).
const MYSQL_KEY: &[u8] = b"-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAg8VL/MKaM8WRJZwW2GFR
JKb5hh9AE/fwyeO0nQn5QgPXLghkNMOY91nlzh/ZSNiTcmyANh2Ir49qqekkSmmL
1Og3EV3leCSe1c7BOKggyNNBvCentreaP1HtpMKC+yyP3K0PIS6yK/mS6baTDbCa
mfZxIKPDoK+CmStOpnilkkUvimTTF+8HhY3FaMHQ8cg63xiap7D9d6XcV5IMIkW6
LV4UpyWEYUFQJGc4uwl2Due9QcAxvRPnSsMDT9TN3/KQKeWgfC5JVApU/tEnexxU
LURYi0+rEyT/Z4Vix7qn2Obmfj1ZNoxDT7EwCz6TF9clw5nTLClBmQkeSREhrdVq
7QIDAQAB
-----END PUBLIC KEY-----
";

fn password(length: usize) -> Password {
    Password::new((0..length).map(|n| (n % 255) as u8 + 1).collect())
}

#[test]
fn what_is_encrypted_for_our_key_is_decrypted_by_it() {
    for length in [0, 1, 19, 20, 21, 64, 213] {
        let sent = password(length);
        let ciphertext = encrypt(KEY.public_key_pem(), &sent, SCRAMBLE).unwrap();
        assert_eq!(ciphertext.len(), 256);
        assert_eq!(KEY.decrypt(&ciphertext, SCRAMBLE).unwrap().as_bytes(), sent.as_bytes());
    }
}

#[test]
fn a_password_longer_than_the_key_carries_says_what_to_do() {
    let error = encrypt(KEY.public_key_pem(), &password(214), SCRAMBLE).unwrap_err();
    assert_eq!(error, ExchangeError::PasswordTooLong { length: 214, limit: 213 });
    assert!(error.to_string().contains("use TLS"), "{error}");
}

#[test]
fn the_public_key_is_written_as_mysql_writes_it() {
    let pem = std::str::from_utf8(KEY.public_key_pem()).unwrap();
    let shape = |text: &str| text.split_inclusive('\n').map(str::len).collect::<Vec<_>>();
    assert_eq!(shape(pem), shape(std::str::from_utf8(MYSQL_KEY).unwrap()));
    // The DER up to the modulus is the same for every 2048-bit RSA key.
    assert_eq!(KEY.public_key_pem()[..70], MYSQL_KEY[..70]);
}

#[test]
fn a_real_servers_key_is_taken_with_and_without_a_trailing_nul() {
    let with_nul = [MYSQL_KEY, b"\0"].concat();
    let without_newline = &MYSQL_KEY[..MYSQL_KEY.len() - 1];
    let with_crlf = std::str::from_utf8(MYSQL_KEY).unwrap().replace('\n', "\r\n");
    for pem in [MYSQL_KEY, &with_nul, without_newline, with_crlf.as_bytes()] {
        assert_eq!(encrypt(pem, &password(8), SCRAMBLE).unwrap().len(), 256);
    }
}

#[test]
fn a_broken_public_key_is_an_error_at_every_length() {
    for cut in 0..MYSQL_KEY.len() - 10 {
        assert!(encrypt(&MYSQL_KEY[..cut], &password(8), SCRAMBLE).is_err(), "cut at {cut}");
    }
    let ec = rcgen::KeyPair::generate().unwrap().public_key_pem();
    for pem in
        [ec.as_bytes(), b"", b"\0", &[b'A'; 9000], b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"]
    {
        assert_eq!(encrypt(pem, &password(8), SCRAMBLE), Err(ExchangeError::BadPublicKey));
    }
}

#[test]
fn what_was_not_encrypted_for_us_is_refused() {
    let refused = |ciphertext: &[u8]| KEY.decrypt(ciphertext, SCRAMBLE).unwrap_err();
    for found in [0, 1, 255, 257] {
        assert_eq!(refused(&vec![1; found]), ExchangeError::CiphertextLength { found, expected: 256 });
    }
    assert_eq!(refused(&[0xFF; 256]), ExchangeError::Undecryptable);
    assert_eq!(refused(&encrypt(MYSQL_KEY, &password(8), SCRAMBLE).unwrap()), ExchangeError::Undecryptable);

    // Another scramble: the NUL at the end does not come out as one.
    let ciphertext = encrypt(KEY.public_key_pem(), &password(8), SCRAMBLE).unwrap();
    assert_eq!(KEY.decrypt(&ciphertext, &[b'x'; 20]).unwrap_err(), ExchangeError::NoTrailingNul);
}

#[test]
fn a_scramble_has_twenty_bytes() {
    for length in [0, 19, 21] {
        let scramble = vec![b'x'; length];
        assert_eq!(encrypt(MYSQL_KEY, &password(8), &scramble), Err(ExchangeError::ScrambleLength(length)));
        assert_eq!(KEY.decrypt(&[1; 256], &scramble).unwrap_err(), ExchangeError::ScrambleLength(length));
    }
}

#[test]
fn passwords_come_with_one_trailing_nul_and_are_never_shown() {
    assert_eq!(Password::from_nul_terminated(b"").unwrap_err(), ExchangeError::NoTrailingNul);
    assert_eq!(Password::from_nul_terminated(b"secret").unwrap_err(), ExchangeError::NoTrailingNul);
    assert_eq!(Password::from_nul_terminated(b"\0").unwrap().as_bytes(), b"");
    assert_eq!(Password::from_nul_terminated(b"a\0b\0").unwrap().as_bytes(), b"a\0b");
    let password = Password::from_nul_terminated(b"secret\0").unwrap();
    assert_eq!(*password.nul_terminated(), b"secret\0");
    assert_eq!(format!("{password:?} {:?}", *KEY), "Password(…) ProxyKey { .. }");
}
