//! Rules before a real MySQL: whom they concern, what they do, and that nobody escapes.

mod charsets;
mod concurrency;
mod dice;
mod graces;
mod held;
mod keys;
mod limits;
mod protocols;
mod reload;
mod restart;
mod said;
mod transactions;
mod trust;

use sandbox::Server;

use crate::harness::{Raw, Tollgate, read_err, upstream};

fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

/// A proxy with these lines of configuration besides its upstream.
fn ruled(yaml: &str) -> Tollgate {
    Tollgate::start(&format!("{}{yaml}", upstream(primary())))
}

/// No pause before a refusal, where thousands of them are wanted.
const AT_ONCE: &str = "defaults: { action: reject, reject_pause: 0s }\n";

/// What came of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done,
    Err(u16, String),
}

impl Answer {
    /// Refused by the proxy.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Answer::Err(1226, message) if message.starts_with("[tollgate] "))
    }
}

/// Runs a statement to the end of its reply, be it several results.
pub(crate) fn run(raw: &mut Raw, sql: &str) -> Answer {
    run_bytes(raw, sql.as_bytes())
}

pub(crate) fn run_bytes(raw: &mut Raw, sql: &[u8]) -> Answer {
    raw.command(0x03, sql);
    answer(raw)
}

/// Reads a reply without DEPRECATE_EOF to its end.
pub(crate) fn answer(raw: &mut Raw) -> Answer {
    loop {
        let first = raw.read().expect("a reply");
        let status = match first.as_slice() {
            [0xFF, ..] => {
                let (code, _, message) = read_err(&first);
                return Answer::Err(code, message);
            }
            [0, ..] => wire::OkPacket::decode(&first, wire::Capabilities::PROTOCOL_41).expect("an OK").status,
            _ => match rows(raw) {
                Ok(status) => status,
                Err(answer) => return answer,
            },
        };
        if !status.contains(wire::StatusFlags::MORE_RESULTS_EXISTS) {
            return Answer::Done;
        }
    }
}

/// The rest of a result: its last flags.
fn rows(raw: &mut Raw) -> Result<wire::StatusFlags, Answer> {
    let mut ends = 0;
    loop {
        let packet = raw.read().expect("a row");
        match packet.as_slice() {
            [0xFE, _, _, low, high] => {
                ends += 1;
                if ends == 2 {
                    return Ok(wire::StatusFlags::from_bits_retain(u16::from_le_bytes([*low, *high])));
                }
            }
            [0xFF, ..] => {
                let (code, _, message) = read_err(&packet);
                return Err(Answer::Err(code, message));
            }
            _ => {}
        }
    }
}

/// A word of a refusal, such as `rule`.
fn word<'a>(message: &'a str, key: &str) -> &'a str {
    let found = message.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("no {key} in {message}"))
}

/// A table of a test's own with some rows.
fn table(name: &str) {
    let root = |sql: &str| primary().root_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:#}"));
    root(&format!("DROP TABLE IF EXISTS test.{name}"));
    root(&format!("CREATE TABLE test.{name} (id INT PRIMARY KEY AUTO_INCREMENT, batch INT, step INT, KEY (batch))"));
    root(&format!("INSERT INTO test.{name} (batch, step) VALUES (0, 0), (0, 1), (0, 2)"));
}
