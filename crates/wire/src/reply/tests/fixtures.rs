//! Reading `fixtures/replies.txt`.

use crate::packet::{HEADER_LENGTH, Header};
use crate::recorded::hex;
use crate::{Capabilities, Command, ReplyShape};

pub(super) struct Fixture {
    pub(super) mode: String,
    pub(super) name: String,
    pub(super) command: u8,
    pub(super) capabilities: Capabilities,
    pub(super) bytes: Vec<u8>,
    /// Where the client sends a file, or its answer in a login.
    pub(super) turns: Vec<usize>,
    pub(super) last_sequence: u8,
}

impl Fixture {
    pub(super) fn asks_for_cursor(&self) -> bool {
        ["execute_cursor", "execute_own_cursor"].contains(&self.name.as_str())
    }

    /// The exchange of COM_CHANGE_USER, which the tracker does not follow.
    pub(super) fn is_login(&self) -> bool {
        Command::from_byte(self.command).map(Command::reply_shape) == Some(ReplyShape::Login)
    }

    /// The payloads.
    pub(super) fn packets(&self) -> Vec<&[u8]> {
        let (mut packets, mut rest) = (Vec::new(), self.bytes.as_slice());
        while let Some(header) = Header::read(rest) {
            let (packet, behind) = rest.split_at(HEADER_LENGTH + header.length);
            packets.push(&packet[HEADER_LENGTH..]);
            rest = behind;
        }
        packets
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.mode.starts_with("mariadb")
    }
}

/// What the tracker is there for.
pub(super) fn replies() -> impl Iterator<Item = Fixture> {
    fixtures().into_iter().filter(|fixture| !fixture.is_login())
}

pub(super) fn fixtures() -> Vec<Fixture> {
    let mut fixtures: Vec<Fixture> = Vec::new();
    for line in include_str!("../../fixtures/replies.txt").lines().filter(|line| !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix("@ ") {
            fixtures.push(titled(title));
            continue;
        }
        let fixture = fixtures.last_mut().expect("a title first");
        if line == "turn" {
            fixture.turns.push(fixture.bytes.len());
        } else {
            let packet = hex(line);
            fixture.last_sequence = Header::read(&packet).expect("a header").sequence;
            fixture.bytes.extend_from_slice(&packet);
        }
    }
    fixtures
}

/// The one that is called so.
pub(super) fn fixture(mode: &str, name: &str) -> Fixture {
    let mut all = fixtures().into_iter();
    all.find(|fixture| fixture.mode == mode && fixture.name == name).expect("such a fixture")
}

fn titled(title: &str) -> Fixture {
    let words: Vec<&str> = title.split(' ').collect();
    let [mode, name, command] = words[..] else { panic!("three words: {title}") };
    Fixture {
        mode: mode.to_owned(),
        name: name.to_owned(),
        command: hex(command)[0],
        capabilities: capabilities(mode),
        bytes: Vec::new(),
        turns: Vec::new(),
        last_sequence: 0,
    }
}

fn capabilities(mode: &str) -> Capabilities {
    let mut capabilities = Capabilities::PROTOCOL_41 | Capabilities::PLUGIN_AUTH;
    for part in mode.split('-').skip(1) {
        capabilities |= match part {
            "ok" => Capabilities::DEPRECATE_EOF,
            "track" => Capabilities::SESSION_TRACK,
            "optional" => Capabilities::OPTIONAL_RESULTSET_METADATA | Capabilities::QUERY_ATTRIBUTES,
            // With `resultset_metadata = NONE`.
            "bare" => Capabilities::OPTIONAL_RESULTSET_METADATA,
            "extended" => {
                Capabilities::MARIADB_PROGRESS
                    | Capabilities::MARIADB_STMT_BULK_OPERATIONS
                    | Capabilities::MARIADB_EXTENDED_METADATA
                    | Capabilities::MARIADB_CACHE_METADATA
            }
            other => panic!("no such mode: {other}"),
        };
    }
    capabilities
}
