use crate::{Capabilities, Fields, Malformed, StatusFlags, put_lenenc_bytes};

/// OK: the end of a reply that succeeded. Its header is 0x00, or 0xFE where it takes the place of an EOF (DEPRECATE_EOF).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OkPacket<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: StatusFlags,
    pub warnings: u16,
    pub info: &'a [u8],
    /// The trackers' entries, without their total length.
    pub session_state: Option<&'a [u8]>,
}

const SYSTEM_VARIABLES: u8 = 0;
const REDIRECT: &[u8] = b"redirect_url";

impl<'a> OkPacket<'a> {
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        Self::located(payload, capabilities).map(|(ok, _)| ok)
    }

    /// Also where the status stands, for who changes it.
    fn located(payload: &'a [u8], capabilities: Capabilities) -> Result<(Self, usize), Malformed> {
        let mut fields = Fields::new(payload);
        if !matches!(fields.u8()?, 0x00 | 0xFE) {
            return Err(Malformed("an OK without its header"));
        }
        let affected_rows = fields.lenenc_int()?;
        let last_insert_id = fields.lenenc_int()?;
        let status_at = fields.position();
        let status = StatusFlags::from_bits_retain(fields.u16()?);
        let warnings = fields.u16()?;
        let (info, session_state) = if !capabilities.contains(Capabilities::SESSION_TRACK) {
            (fields.rest(), None)
        } else if fields.is_empty() {
            (&b""[..], None)
        } else {
            let info = fields.lenenc_bytes()?;
            let changed = status.contains(StatusFlags::SESSION_STATE_CHANGED) && !fields.is_empty();
            (info, if changed { Some(fields.lenenc_bytes()?) } else { None })
        };
        Ok((Self { affected_rows, last_insert_id, status, warnings, info, session_state }, status_at))
    }
}

/// The payload without the variable by which a server (MariaDB 11.3, Azure) sends clients past the proxy; None when there is
/// nothing to strip. Every other tracker stays byte for byte; what is malformed behind them does not, since we could not
/// say what a client would read from it.
pub fn without_redirect(payload: &[u8], capabilities: Capabilities) -> Option<Vec<u8>> {
    if !capabilities.contains(Capabilities::SESSION_TRACK) || !mentions_redirect(payload) {
        return None;
    }
    let (ok, status_at) = OkPacket::located(payload, capabilities).ok()?;
    let kept = entries_without_redirect(ok.session_state?)?;

    let mut status = ok.status;
    status.set(StatusFlags::SESSION_STATE_CHANGED, !kept.is_empty());
    let mut out = Vec::with_capacity(payload.len());
    out.extend_from_slice(&payload[..status_at]);
    out.extend_from_slice(&status.bits().to_le_bytes());
    out.extend_from_slice(&ok.warnings.to_le_bytes());
    put_lenenc_bytes(&mut out, ok.info);
    if !kept.is_empty() {
        put_lenenc_bytes(&mut out, &kept);
    }
    Some(out)
}

/// A cheap look that almost every OK passes: is the name anywhere, in any case?
fn mentions_redirect(payload: &[u8]) -> bool {
    const UNDERSCORE: usize = 8;
    memchr::memchr_iter(b'_', payload).any(|at| {
        let start = at.checked_sub(UNDERSCORE);
        let name = start.and_then(|start| payload.get(start..start + REDIRECT.len()));
        name.is_some_and(|name| name.eq_ignore_ascii_case(REDIRECT))
    })
}

/// None: nothing had to go.
fn entries_without_redirect(state: &[u8]) -> Option<Vec<u8>> {
    let mut fields = Fields::new(state);
    let mut kept = Vec::new();
    let mut stripped = false;
    while !fields.is_empty() {
        let start = fields.position();
        let (Ok(kind), Ok(data)) = (fields.u8(), fields.lenenc_bytes()) else { return Some(kept) };
        let rest = if kind == SYSTEM_VARIABLES { variables_without_redirect(data) } else { None };
        let Some(rest) = rest else {
            kept.extend_from_slice(&state[start..fields.position()]);
            continue;
        };
        stripped = true;
        if !rest.is_empty() {
            kept.push(kind);
            put_lenenc_bytes(&mut kept, &rest);
        }
    }
    stripped.then_some(kept)
}

/// MySQL and MariaDB put one variable into an entry; the format would allow several. None: nothing had to go.
fn variables_without_redirect(data: &[u8]) -> Option<Vec<u8>> {
    let mut fields = Fields::new(data);
    let mut kept = Vec::new();
    let mut stripped = false;
    while !fields.is_empty() {
        let start = fields.position();
        let (Ok(name), Ok(_)) = (fields.lenenc_bytes(), fields.lenenc_bytes()) else { return Some(kept) };
        if name.eq_ignore_ascii_case(REDIRECT) {
            stripped = true;
        } else {
            kept.extend_from_slice(&data[start..fields.position()]);
        }
    }
    stripped.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::put_lenenc_int;
    use crate::recorded::{self, cut_everywhere, hex};

    const TRACK: Capabilities = Capabilities::SESSION_TRACK;

    #[test]
    fn mysql_says_ok() {
        let track = StatusFlags::AUTOCOMMIT | StatusFlags::SESSION_STATE_CHANGED;
        for (payload, status, session_state) in [
            (recorded::OK_PLAIN, StatusFlags::AUTOCOMMIT, None),
            (recorded::OK_LOGIN_SCHEMA, track, Some("01050474657374")),
            (
                recorded::OK_TIME_ZONE,
                track,
                Some("00120c73746174656d656e745f6964043130313400110974696d655f7a6f6e65062b30303a3030"),
            ),
        ] {
            let payload = hex(payload);
            let ok = OkPacket::decode(&payload, TRACK).unwrap();
            assert_eq!((ok.affected_rows, ok.last_insert_id, ok.warnings, ok.info), (0, 0, 0, &b""[..]));
            assert_eq!(ok.status, status);
            assert_eq!(ok.session_state.map(<[u8]>::to_vec), session_state.map(hex));
            assert_eq!(without_redirect(&payload, TRACK), None);
            cut_everywhere(&payload, |cut| {
                let _ = OkPacket::decode(cut, TRACK);
                let _ = OkPacket::decode(cut, Capabilities::empty());
            });
        }
    }

    #[test]
    fn without_session_tracking_info_is_the_rest() {
        let payload = b"\x00\x03\x07\x02\x00\x01\x00Rows matched: 3";
        let ok = OkPacket::decode(payload, Capabilities::empty()).unwrap();
        assert_eq!((ok.affected_rows, ok.last_insert_id, ok.warnings), (3, 7, 1));
        assert_eq!(ok.info, b"Rows matched: 3");
        assert_eq!(OkPacket::decode(&[&b"\xFE"[..], &payload[1..]].concat(), Capabilities::empty()), Ok(ok));
        assert!(OkPacket::decode(b"\xFF\x00\x00\x02\x00\x00\x00", TRACK).is_err());
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<u8> {
        let mut data = Vec::new();
        for (name, value) in pairs {
            put_lenenc_bytes(&mut data, name.as_bytes());
            put_lenenc_bytes(&mut data, value.as_bytes());
        }
        let mut entry = vec![SYSTEM_VARIABLES];
        put_lenenc_bytes(&mut entry, &data);
        entry
    }

    fn ok(header: u8, info: &[u8], entries: &[Vec<u8>]) -> Vec<u8> {
        let mut out = vec![header];
        put_lenenc_int(&mut out, 300);
        put_lenenc_int(&mut out, 70_000);
        let changed = StatusFlags::SESSION_STATE_CHANGED.bits() * u16::from(!entries.is_empty());
        out.extend_from_slice(&(StatusFlags::IN_TRANS.bits() | changed).to_le_bytes());
        out.extend_from_slice(&[2, 0]);
        put_lenenc_bytes(&mut out, info);
        if !entries.is_empty() {
            put_lenenc_bytes(&mut out, &entries.concat());
        }
        out
    }

    #[test]
    fn a_redirect_is_stripped_and_nothing_else() {
        let zone = variables(&[("time_zone", "SYSTEM")]);
        let schema = vec![1, 3, 2, b'd', b'b'];
        let redirect = variables(&[("redirect_url", "mysql://elsewhere:3306")]);
        let loud = variables(&[("Redirect_URL", &"x".repeat(300))]);
        let mixed = variables(&[("a", "1"), ("redirect_url", "y"), ("b", "2")]);
        let unmixed = variables(&[("a", "1"), ("b", "2")]);
        for header in [0x00, 0xFE] {
            for (given, expected) in [
                (vec![&redirect], vec![]),
                (vec![&zone, &redirect, &schema], vec![&zone, &schema]),
                (vec![&loud, &schema, &redirect], vec![&schema]),
                (vec![&mixed, &zone], vec![&unmixed, &zone]),
            ] {
                let given = ok(header, b"info", &given.into_iter().cloned().collect::<Vec<_>>());
                let expected = ok(header, b"info", &expected.into_iter().cloned().collect::<Vec<_>>());
                assert_eq!(without_redirect(&given, TRACK), Some(expected.clone()));
                assert_eq!(without_redirect(&expected, TRACK), None);
                cut_everywhere(&given, |cut| {
                    let _ = without_redirect(cut, TRACK);
                });
            }
        }
    }

    #[test]
    fn the_name_elsewhere_stays() {
        let value = variables(&[("init_connect", "redirect_url")]);
        let schema = [&[1, 13, 12][..], REDIRECT].concat();
        for payload in [
            ok(0, b"redirect_url", &[]),
            ok(0, b"redirect_url", std::slice::from_ref(&value)),
            ok(0, b"", &[schema, value]),
        ] {
            assert_eq!(without_redirect(&payload, TRACK), None);
            assert_eq!(without_redirect(&payload, Capabilities::empty()), None);
        }
    }

    #[test]
    fn a_malformed_rest_does_not_carry_a_redirect() {
        let zone = variables(&[("time_zone", "SYSTEM")]);
        let broken = [&[0, 200, 12][..], REDIRECT].concat();
        let stripped = without_redirect(&ok(0, b"", &[zone.clone(), broken]), TRACK);
        assert_eq!(stripped, Some(ok(0, b"", &[zone])));
    }
}
