//! Commands that are looked into, and replies that are: no panic, offsets inside the payload, and a rewrite changes only
//! what it is for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{Capabilities, ErrPacket, Execute, OkPacket, PrepareOk, Query, types_inserted, without_redirect};

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
    match which % 5 {
        0 => query(payload, capabilities),
        1 => execute(payload, u16::from(flags >> 4), capabilities),
        2 => drop(PrepareOk::decode(payload, capabilities)),
        3 => ok(payload, capabilities),
        _ => drop(ErrPacket::decode(payload)),
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
