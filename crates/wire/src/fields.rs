use crate::Malformed;

const CUT: Malformed = Malformed("shorter than its fields");

/// A checked cursor over a payload: every read says whether the bytes were there. Nothing is copied.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    payload: &'a [u8],
    position: usize,
}

impl<'a> Fields<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self { payload, position: 0 }
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u24(&mut self) -> Result<u32, Malformed> {
        self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    /// 0xFB (NULL in a text row) and 0xFF (an error packet) are no integers.
    pub fn lenenc_int(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            small @ 0..=0xFA => Ok(small.into()),
            0xFC => self.u16().map(u64::from),
            0xFD => self.u24().map(u64::from),
            0xFE => self.u64(),
            0xFB | 0xFF => Err(Malformed("not a length-encoded integer")),
        }
    }

    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.lenenc_int()?).map_err(|_| CUT)?;
        self.bytes(length)
    }

    /// Up to and without the NUL, which is consumed.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let rest = self.unread();
        let end = memchr::memchr(0, rest).ok_or(Malformed("a string without its NUL"))?;
        self.position += end + 1;
        Ok(&rest[..end])
    }

    /// As [`Self::nul_bytes`], for a last field whose NUL some senders leave out.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.rest())
    }

    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let bytes = self.unread().get(..length).ok_or(CUT)?;
        self.position += length;
        Ok(bytes)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let array = *self.unread().first_chunk().ok_or(CUT)?;
        self.position += N;
        Ok(array)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.unread();
        self.position = self.payload.len();
        rest
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn remaining(&self) -> usize {
        self.payload.len() - self.position
    }

    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The position never passes the end, so this is never out of bounds.
    fn unread(&self) -> &'a [u8] {
        self.payload.get(self.position..).unwrap_or_default()
    }
}

pub fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The bytes up to their first NUL, and one NUL: a name with a NUL inside would else become two fields.
pub fn put_nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    out.extend_from_slice(&bytes[..end]);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_encoded_integers_come_back() {
        for (value, length) in [
            (0, 1),
            (0xFA, 1),
            (0xFB, 3),
            (0xFF, 3),
            (0xFFFF, 3),
            (0x1_0000, 4),
            (0xFF_FFFF, 4),
            (0x100_0000, 9),
            (u64::MAX, 9),
        ] {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            assert_eq!(out.len(), length, "{value:#x}");
            assert_eq!(Fields::new(&out).lenenc_int(), Ok(value));
            for cut in 0..out.len() {
                assert!(Fields::new(&out[..cut]).lenenc_int().is_err(), "{value:#x} cut at {cut}");
            }
        }
        assert!(Fields::new(&[0xFB]).lenenc_int().is_err());
        assert!(Fields::new(&[0xFF, 0, 0, 0, 0, 0, 0, 0, 0]).lenenc_int().is_err());
    }

    #[test]
    fn a_length_beyond_the_payload_is_malformed() {
        for payload in [&[5, 1, 2][..], &[0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1]] {
            assert!(Fields::new(payload).lenenc_bytes().is_err());
        }
    }

    #[test]
    fn strings_end_at_their_nul() {
        let mut fields = Fields::new(b"ab\0\0cd");
        assert_eq!(fields.nul_bytes(), Ok(&b"ab"[..]));
        assert_eq!(fields.nul_bytes(), Ok(&b""[..]));
        assert_eq!(fields.position(), 4);
        assert!(fields.nul_bytes().is_err());
        assert_eq!(fields.remaining(), 2, "a failed read consumes nothing");
        assert_eq!(fields.nul_or_rest(), b"cd");
        assert!(fields.is_empty());
        assert_eq!(fields.nul_or_rest(), b"");
    }

    #[test]
    fn integers_are_little_endian() {
        let payload: Vec<u8> = (1..=18).collect();
        let mut fields = Fields::new(&payload);
        assert_eq!(fields.u8(), Ok(1));
        assert_eq!(fields.u16(), Ok(0x0302));
        assert_eq!(fields.u24(), Ok(0x06_0504));
        assert_eq!(fields.u32(), Ok(0x0A09_0807));
        assert_eq!(fields.u64(), Ok(0x1211_100F_0E0D_0C0B));
        assert!(fields.u8().is_err());
    }

    #[test]
    fn a_nul_inside_a_name_does_not_start_another_field() {
        let mut out = Vec::new();
        put_nul_bytes(&mut out, b"app\0root");
        assert_eq!(out, b"app\0");
    }
}
