//! Sending steps and gathering every packet that comes back.

use std::io::{Read, Write};

use wire::packet::{HEADER_LENGTH, Header, put_packet};
use wire::{Capabilities, put_lenenc_int};

use super::corpus::Step;
use super::values::{Value, execute_body};
use crate::harness::Raw;

const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const RESET: u8 = 0x1A;

/// Ids from here on name no statement.
const NOWHERE: u32 = 0x7F00_0000;

/// Of this command's reply only the words are compared.
pub(crate) const COM_STATISTICS: &str = "COM_STATISTICS";

/// One packet as it came.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sequence: u8,
    pub(crate) payload: Vec<u8>,
}

/// Stands for the end of the connection among the packets of a reply.
pub(crate) const CLOSED: &[u8] = b"the connection was closed";

pub(crate) struct Conversation {
    raw: Raw,
    capabilities: Capabilities,
    sentinels: u32,
    /// What the last PREPARE gave; 0 when it failed.
    statement: u32,
    closed: bool,
}

impl Conversation {
    pub(crate) fn new(raw: Raw, capabilities: Capabilities) -> Conversation {
        Conversation { raw, capabilities, sentinels: NOWHERE, statement: 0, closed: false }
    }

    /// Runs what belongs to the setting, not to the comparison.
    pub(crate) fn must(&mut self, sql: &str) {
        let reply = self.run(&Step::Query(sql.to_owned(), Vec::new()));
        let ok = reply.first().is_some_and(|packet| packet.payload.first() == Some(&0));
        assert!(ok, "{sql}: {}", reply.first().map_or_else(|| "no answer".to_owned(), describe));
    }

    /// Whether the other side has ended the connection: nothing more can be said on it.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn run(&mut self, step: &Step) -> Vec<Packet> {
        if self.closed {
            return Vec::new();
        }
        let mut bytes = Vec::new();
        match step {
            Step::Query(sql, attributes) => drop(put_packet(&mut bytes, 0, &self.query(sql, attributes))),
            Step::Command(_, payload) => drop(put_packet(&mut bytes, 0, payload)),
            Step::Prepare(sql) => drop(put_packet(&mut bytes, 0, &[&[PREPARE], sql.as_bytes()].concat())),
            Step::Execute { flags, values, types } => {
                let body = execute_body(self.statement, *flags, values, *types, self.capabilities);
                put_packet(&mut bytes, 0, &[&[EXECUTE], body.as_slice()].concat());
            }
            Step::OnStatement(command, rest) => {
                let id = self.statement.to_le_bytes();
                put_packet(&mut bytes, 0, &[&[*command][..], &id, rest].concat());
            }
            Step::Load(sql, file) => {
                put_packet(&mut bytes, 0, &self.query(sql, &[]));
                // The server's request has number 1.
                let mut sequence = 2;
                for part in file.iter().map(Vec::as_slice).chain([&b""[..]]) {
                    sequence = put_packet(&mut bytes, sequence, part);
                }
            }
        }
        let mut reply = self.exchange(bytes);
        if matches!(step, Step::Prepare(_)) {
            self.statement = match reply.first_mut().map(|packet| packet.payload.as_mut_slice()) {
                Some([0, id @ ..]) if id.len() >= 4 => take_id(id),
                _ => 0,
            };
        }
        if matches!(step, Step::Command(COM_STATISTICS, _)) {
            reply.iter_mut().for_each(|packet| packet.payload.retain(|byte| !byte.is_ascii_digit()));
        }
        reply.iter_mut().for_each(|packet| mask(packet, self.statement));
        reply
    }

    /// Sends a command with its sentinel, and reads up to the sentinel's answer.
    fn exchange(&mut self, mut bytes: Vec<u8>) -> Vec<Packet> {
        self.sentinels += 1;
        put_packet(&mut bytes, 0, &[&[RESET][..], &self.sentinels.to_le_bytes()].concat());
        let small = bytes.len() < 10_000;
        // What is large is written beside the reading: neither side may wait for the other to take what it sends.
        let mut writer = self.raw.stream.try_clone().expect("a second handle");
        let mut write = move || writer.write_all(&bytes);
        let writing = if small { Err(write()) } else { Ok(std::thread::spawn(write)) };
        let answer = format!("({})", self.sentinels);
        let mut packets = Vec::new();
        loop {
            let Some(packet) = self.read() else {
                self.closed = true;
                packets.push(Packet { sequence: 0, payload: CLOSED.to_vec() });
                break;
            };
            let is_sentinel = packet.payload.first() == Some(&0xFF)
                && packet.payload.windows(answer.len()).any(|text| text == answer.as_bytes());
            if is_sentinel {
                break;
            }
            packets.push(packet);
        }
        let written = writing.map_or_else(|written| written, |writing| writing.join().expect("the writer"));
        assert!(self.closed || written.is_ok(), "writing: {written:?}");
        packets
    }

    /// One packet as it is on the wire, without joining those that belong together.
    fn read(&mut self) -> Option<Packet> {
        let mut header = [0; HEADER_LENGTH];
        self.raw.stream.read_exact(&mut header).ok()?;
        let header = Header::read(&header)?;
        let mut payload = vec![0; header.length];
        self.raw.stream.read_exact(&mut payload).ok()?;
        Some(Packet { sequence: header.sequence, payload })
    }

    fn query(&self, sql: &str, attributes: &[(&str, Value)]) -> Vec<u8> {
        let mut payload = vec![QUERY];
        if self.capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
            put_lenenc_int(&mut payload, attributes.len() as u64);
            put_lenenc_int(&mut payload, 1);
            if !attributes.is_empty() {
                super::values::put_attributes(&mut payload, attributes);
            }
        }
        payload.extend_from_slice(sql.as_bytes());
        payload
    }
}

/// Reads a statement's id and hides it: MariaDB counts them for all sessions together.
fn take_id(bytes: &mut [u8]) -> u32 {
    let mut id = [0; 4];
    id.swap_with_slice(&mut bytes[..4]);
    u32::from_le_bytes(id)
}

/// Hides the id in an ERR that tells it.
fn mask(packet: &mut Packet, statement: u32) {
    if packet.payload.first() != Some(&0xFF) {
        return;
    }
    let told = format!("({statement})");
    let found = packet.payload.windows(told.len()).position(|text| text == told.as_bytes());
    if let Some(at) = found {
        packet.payload.splice(at..at + told.len(), b"(id)".iter().copied());
    }
}

/// Hex and text of a packet, of its beginning where it is long.
pub(crate) fn describe(packet: &Packet) -> String {
    let shown = &packet.payload[..packet.payload.len().min(200)];
    let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    let text: String = shown.iter().map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '.' }).collect();
    format!("number {}, {} bytes: {hex} {text}", packet.sequence, packet.payload.len())
}
