//! Reading `fixtures/replies.txt`.

use crate::Capabilities;
use crate::packet::Header;
use crate::recorded::hex;

pub(super) struct Fixture {
    pub(super) mode: String,
    pub(super) name: String,
    pub(super) command: u8,
    pub(super) capabilities: Capabilities,
    pub(super) bytes: Vec<u8>,
    /// Where the client sends a file.
    pub(super) turns: Vec<usize>,
    pub(super) last_sequence: u8,
}

impl Fixture {
    pub(super) fn asks_for_cursor(&self) -> bool {
        ["execute_cursor", "execute_own_cursor"].contains(&self.name.as_str())
    }

    pub(super) fn is_mariadb(&self) -> bool {
        self.mode.starts_with("mariadb")
    }
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
