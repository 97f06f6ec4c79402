//! Commands that are looked into, and replies that are: no panic, offsets inside the payload, and a rewrite changes only
//! what it is for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use relay::fuzzing::kill_parameter;
use wire::{
    BulkExecute, Capabilities, ErrPacket, Execute, OkPacket, PrepareOk, Query, types_inserted, without_redirect,
};

fuzz_target!(|input: &[u8]| {
    let Some((&[which, flags], payload)) = input.split_first_chunk::<2>() else { return };
    let mut capabilities = Capabilities::empty();
    for (bit, capability) in [
        (1, Capabilities::QUERY_ATTRIBUTES),
        (2, Capabilities::SESSION_TRACK),
        (4, Capabilities::OPTIONAL_RESULTSET_METADATA),
        (8, Capabilities::PROTOCOL_41),
    ] {
        capabilities.set(capability, flags & bit != 0);
    }
    match which % 7 {
        0 => query(payload, capabilities),
        1 => execute(payload, u16::from(flags >> 4), capabilities),
        2 => drop(PrepareOk::decode(payload, capabilities)),
        3 => ok(payload, capabilities),
        4 => drop(ErrPacket::decode(payload)),
        5 => bulk_execute(payload, u16::from(flags >> 4)),
        _ => killed(payload),
    }
});

fn query(payload: &[u8], capabilities: Capabilities) {
    let Ok(query) = Query::decode(payload, capabilities) else { return };
    assert_eq!(&payload[query.sql_offset..], query.sql);
    // Each takes two bytes of type and one of a name's length at the least.
    assert!(query.attributes().count() * 3 <= query.sql_offset);
}

/// Types taken out and put back give the same packet.
fn execute(payload: &[u8], declared: u16, capabilities: Capabilities) {
    let Ok(execute) = Execute::decode(payload, declared, capabilities) else { return };
    assert!(execute.values_offset <= payload.len());
    let (Some(flag), Some(types)) = (execute.bind_flag_offset, execute.types.clone()) else {
        let _ = types_inserted(payload, &execute, &[0xFE, 0, 0, 0x80]);
        return;
    };
    let bare = [&payload[..flag], &[0], &payload[types.end..]].concat();
    let second = Execute::decode(&bare, declared, capabilities).expect("the same without types");
    let mut whole = payload.to_vec();
    whole[flag] = 1;
    assert_eq!(types_inserted(&bare, &second, &payload[types]), whole);
}

/// The same of MariaDB's.
fn bulk_execute(payload: &[u8], declared: u16) {
    const FLAGS: usize = 5;
    let Ok(bulk) = BulkExecute::decode(payload, declared) else { return };
    let Some(types) = bulk.types else {
        assert_eq!(bulk.with_types(&[0; 3]), None, "types are pairs");
        return;
    };
    assert_eq!(bulk.with_types(types), None, "it has its own");
    let mut bare = [&payload[..FLAGS + 2], &payload[FLAGS + 2 + types.len()..]].concat();
    bare[FLAGS] &= !0x80;
    let second = BulkExecute::decode(&bare, declared).expect("the same without types");
    assert_eq!(second.with_types(types).as_deref(), Some(payload));
}

/// The value that goes upstream reads there as the other id, in the way in which the client's reads as ours.
fn killed(value: &[u8]) {
    // Ours have the top bit set, those of servers have not.
    let lookup = |id: u32| (id >> 31 == 1).then_some(id & 0x7FFF_FFFF);
    let Some((replaced, id)) = kill_parameter(value, lookup) else { return };
    let (before, after) = (readings(value), readings(&replaced));
    let upstream = lookup(id).expect("one of ours");
    let alike = |at: usize| before[at] == Some(id) && after[at] == Some(upstream);
    assert!((0..before.len()).any(alike), "{value:02x?} became {replaced:02x?}");
}

/// As an integer modulo 2³², as a double, as a string of digits.
fn readings(value: &[u8]) -> [Option<u32>; 3] {
    let integer = match value {
        &[a, b, c, d] | &[a, b, c, d, 0, 0, 0, 0] | &[a, b, c, d, 255, 255, 255, 255] => {
            Some(u32::from_le_bytes([a, b, c, d]))
        }
        _ => None,
    };
    let double = value.try_into().ok().map(|bytes| f64::from_le_bytes(bytes) as u32);
    let text = value.get(1..).and_then(|digits| std::str::from_utf8(digits).ok());
    [integer, double, text.and_then(|text| text.parse().ok())]
}

/// What is left says nothing of a redirect, and is an OK with the same figures.
fn ok(payload: &[u8], capabilities: Capabilities) {
    let decoded = OkPacket::decode(payload, capabilities);
    let Some(stripped) = without_redirect(payload, capabilities) else { return };
    let before = decoded.expect("what was stripped had been read");
    let after = OkPacket::decode(&stripped, capabilities).expect("an OK");
    assert_eq!((after.affected_rows, after.last_insert_id), (before.affected_rows, before.last_insert_id));
    assert_eq!((after.warnings, after.info), (before.warnings, before.info));
    assert_eq!(without_redirect(&stripped, capabilities), None);
}
