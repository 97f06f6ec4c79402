//! Which packets of a reply are still to come.
//!
//! The tracker reads the header of each packet, its first byte, and a few more bytes of the packets that end
//! something. Rows are counted, never decoded. A packet that does not fit where it stands is [`OutOfSync`]: the session
//! cannot go on, because nobody knows any more where the next reply begins.

use crate::packet::{HEADER_LENGTH, Header};
use crate::{Capabilities, PrepareOk, ReplyShape, StatusFlags};

/// The longest start of a packet that is ever looked at: an OK up to its status flags and warnings.
const HEAD: usize = 1 + 9 + 9 + 2 + 2;

/// A column definition with six empty names, the length of what follows, and its twelve bytes.
const SHORTEST_DEFINITION: usize = 6 + 1 + 12;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xFB;
const EOF: u8 = 0xFE;
const ERR: u8 = 0xFF;

/// Where a number of columns is followed by whether their definitions are.
const METADATA_IS_OPTIONAL: Capabilities =
    Capabilities::OPTIONAL_RESULTSET_METADATA.union(Capabilities::MARIADB_CACHE_METADATA);

/// An ERR with this code is a progress report of MariaDB's, after which the reply goes on.
const PROGRESS: u16 = 0xFFFF;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("reply out of sync: {0}")]
pub struct OutOfSync(pub &'static str);

/// Where [`ReplyTracker::advance`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes at the start of the input that may be passed on to the client.
    pub consumed: usize,
    pub stop: Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All that could be judged was consumed.
    NeedMore,
    /// The next packet must be in the input whole, with this many bytes, before it can be judged.
    NeedWhole(usize),
    /// The next packet, of this many bytes, tells the client to go to another server: take that out of it, and call
    /// [`ReplyTracker::pass_packet`] with what it was.
    Redirect(usize),
    /// It is the client's turn: it sends a file, up to an empty packet; then the reply goes on.
    LocalInfile,
    /// The reply is complete.
    End,
}

/// Follows the replies of one session, one at a time.
#[derive(Debug)]
pub struct ReplyTracker {
    deprecate_eof: bool,
    session_track: bool,
    progress: bool,
    capabilities: Capabilities,
    /// The command asked for a cursor, so its columns may be all there is.
    cursor: bool,
    /// The result under way has the OUT parameters of a CALL. MySQL says only in the EOF before the row that more
    /// follows (checked on 9.7; where EOF is deprecated, the one end says it).
    out_parameters: bool,
    state: State,
    /// Payload bytes of the current packet that have not passed yet.
    left: usize,
    /// The current packet is full: the next one continues it and has no head of its own.
    continued: bool,
    /// What stands after the current packet.
    then: Option<Stop>,
    /// The rows are fetched ones, which are binary and begin with 0.
    fetched: bool,
    /// The number that the first packet of the reply must have: the one behind the command's last.
    first_sequence: Option<u8>,
    /// The reply was an ERR with another number: a server that broke off. No other reply can follow it.
    pub out_of_step: bool,
    /// The sequence number of the last packet that passed or is passing.
    pub sequence: u8,
    /// The flags of the last OK or EOF of the session: where transaction state comes from.
    pub status: StatusFlags,
    /// The code of the ERR that ended the reply.
    pub error: Option<u16>,
    /// What a PREPARE gave.
    pub prepared: Option<PrepareOk>,
    /// Rows that passed in this reply.
    pub rows: u64,
    /// Rows that its OKs say were changed.
    pub affected: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No reply is expected. Follows: any, by `begin`.
    Idle,
    /// The first packet of a reply or of the next result. Follows: Columns, Definitions, Idle.
    First(ReplyShape),
    /// Column definitions before rows. Follows: ColumnsEnd or Rows.
    Columns { left: u64 },
    /// The EOF between columns and rows, where EOF is not deprecated. Follows: Rows or Idle (a cursor was opened).
    ColumnsEnd,
    /// Follows: First (more results) or Idle.
    Rows,
    /// A PREPARE's definitions with their EOFs. Follows: Idle.
    Definitions { left: u32 },
    /// Follows: Idle.
    BinlogEvents,
}

impl ReplyTracker {
    pub fn new(capabilities: Capabilities, status: StatusFlags) -> ReplyTracker {
        ReplyTracker {
            deprecate_eof: capabilities.contains(Capabilities::DEPRECATE_EOF),
            session_track: capabilities.contains(Capabilities::SESSION_TRACK),
            progress: capabilities.contains(Capabilities::MARIADB_PROGRESS),
            capabilities,
            cursor: false,
            out_parameters: false,
            state: State::Idle,
            left: 0,
            continued: false,
            then: None,
            fetched: false,
            first_sequence: None,
            out_of_step: false,
            sequence: 0,
            status,
            error: None,
            prepared: None,
            rows: 0,
            affected: 0,
        }
    }

    /// A command of this shape was sent. The login of COM_CHANGE_USER is not followed here.
    #[inline]
    pub fn begin(&mut self, shape: ReplyShape) {
        self.cursor = false;
        self.out_parameters = false;
        self.first_sequence = None;
        self.out_of_step = false;
        self.fetched = shape == ReplyShape::Rows;
        self.error = None;
        self.prepared = None;
        self.rows = 0;
        self.affected = 0;
        self.state = match shape {
            ReplyShape::None | ReplyShape::Login => State::Idle,
            ReplyShape::Fields | ReplyShape::Rows => State::Rows,
            ReplyShape::BinlogEvents => State::BinlogEvents,
            ReplyShape::Simple | ReplyShape::Text | ReplyShape::Results | ReplyShape::Prepare => State::First(shape),
        };
    }

    /// The last packet that the upstream was sent, of the command or of a file, had this number: the reply goes on with
    /// the next. What has another number is no reply to this command.
    #[inline]
    pub fn expect_behind(&mut self, sequence: u8) {
        self.first_sequence = Some(sequence.wrapping_add(1));
    }

    /// The command that `begin` was called for is an EXECUTE that asks for a cursor. Without this a CURSOR_EXISTS ends
    /// nothing: servers also set it in the results of a procedure or function that has opened a cursor of its own
    /// (checked on MySQL 9.7 and MariaDB 10.11), and rows follow there.
    pub fn expect_cursor(&mut self) {
        self.cursor = true;
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle && self.left == 0
    }

    /// Whether the stream stands between two packets, where an ERR of our own could be put in.
    pub fn is_between_packets(&self) -> bool {
        self.left == 0 && !self.continued
    }

    /// Looks at what came from the upstream. Call again with the rest, and more, after each stop but `End`.
    pub fn advance(&mut self, input: &[u8]) -> Result<Step, OutOfSync> {
        let mut at = 0;
        loop {
            let step = self.left.min(input.len() - at);
            at += step;
            self.left -= step;
            if self.left > 0 {
                return Ok(Step { consumed: at, stop: Stop::NeedMore });
            }
            if !self.continued
                && let Some(stop) = self.then.take()
            {
                return Ok(Step { consumed: at, stop });
            }
            let rest = &input[at..];
            let Some(header) = Header::read(rest) else {
                return Ok(Step { consumed: at, stop: Stop::NeedMore });
            };
            if !self.continued {
                match self.judge(header, &rest[HEADER_LENGTH..])? {
                    Judgement::Pass => {}
                    Judgement::Stop(stop) => return Ok(Step { consumed: at, stop }),
                }
            }
            self.enter(header);
            at += HEADER_LENGTH;
        }
    }

    /// Takes one whole packet as passed, after [`Stop::Redirect`].
    pub fn pass_packet(&mut self, packet: &[u8]) -> Result<Stop, OutOfSync> {
        let header = Header::read(packet).ok_or(OutOfSync("a packet without a header"))?;
        if header.is_continued() {
            return Err(OutOfSync("an OK of more than one packet"));
        }
        self.check_step(header.sequence, &packet[HEADER_LENGTH..])?;
        self.step(header.length, &packet[HEADER_LENGTH..])?;
        self.sequence = header.sequence;
        Ok(self.then.take().unwrap_or(Stop::NeedMore))
    }

    #[inline]
    fn enter(&mut self, header: Header) {
        self.left = header.length;
        self.continued = header.is_continued();
        self.sequence = header.sequence;
    }

    /// Judges the head of a logical packet, if enough of it is there.
    #[inline]
    fn judge(&mut self, header: Header, payload: &[u8]) -> Result<Judgement, OutOfSync> {
        // Most packets of a large result are rows, and the first byte tells them.
        if self.state == State::Rows
            && let Some(&first) = payload.first()
            && first < EOF
            && header.length > 0
            && self.first_sequence.is_none()
            && !self.fetched
        {
            self.rows += 1;
            return Ok(Judgement::Pass);
        }
        if payload.len() < header.length.min(HEAD) {
            return Ok(Judgement::Stop(Stop::NeedMore));
        }
        // What stands behind a packet is not its own.
        let payload = &payload[..payload.len().min(header.length)];
        if self.session_track && self.may_change_session(header.length, payload) {
            if payload.len() < header.length {
                return Ok(Judgement::Stop(Stop::NeedWhole(HEADER_LENGTH + header.length)));
            }
            if crate::ok::without_redirect(payload, self.capabilities).is_some() {
                return Ok(Judgement::Stop(Stop::Redirect(HEADER_LENGTH + header.length)));
            }
        }
        self.check_step(header.sequence, payload)?;
        self.step(header.length, payload)?;
        Ok(Judgement::Pass)
    }

    /// Whether the first packet stands where the reply must begin. A server that breaks off in the middle of a command
    /// says so with the number it has come to.
    fn check_step(&mut self, sequence: u8, payload: &[u8]) -> Result<(), OutOfSync> {
        match self.first_sequence.take() {
            Some(expected) if expected != sequence => {
                self.out_of_step = true;
                if payload.first() == Some(&ERR) { Ok(()) } else { Err(OutOfSync("not the reply to this command")) }
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a binlog dump is under way, which does not end by itself.
    pub fn follows_binlog(&self) -> bool {
        self.state == State::BinlogEvents
    }

    /// Whether this packet is an OK that carries changes of the session's state.
    fn may_change_session(&self, length: usize, payload: &[u8]) -> bool {
        let is_ok = match self.state {
            State::First(ReplyShape::Simple | ReplyShape::Results) => matches!(payload.first(), Some(&OK | &EOF)),
            State::Rows => self.ends_rows(length, payload),
            State::First(ReplyShape::Prepare | ReplyShape::Text | ReplyShape::None)
            | State::First(ReplyShape::Fields | ReplyShape::Rows | ReplyShape::BinlogEvents | ReplyShape::Login)
            | State::Idle
            | State::Columns { .. }
            | State::ColumnsEnd
            | State::Definitions { .. }
            | State::BinlogEvents => false,
        };
        is_ok && ok_status(payload).is_some_and(|status| status.contains(StatusFlags::SESSION_STATE_CHANGED))
    }

    /// Takes the packet in: what it is, and what follows.
    fn step(&mut self, length: usize, head: &[u8]) -> Result<(), OutOfSync> {
        let first = *head.first().ok_or(OutOfSync("an empty packet"))?;
        if first == ERR && self.state != State::Idle && self.state != State::First(ReplyShape::None) {
            return self.error_packet(head);
        }
        match self.state {
            State::Idle => Err(OutOfSync("a packet that nobody asked for")),
            State::First(shape) => self.first_packet(shape, first, length, head),
            State::Columns { .. } if matches!(first, OK | EOF) && length < SHORTEST_DEFINITION => {
                Err(OutOfSync("the end of a result where columns are due"))
            }
            State::Columns { left } => {
                self.state = match left {
                    0 | 1 if self.deprecate_eof => State::Rows,
                    0 | 1 => State::ColumnsEnd,
                    _ => State::Columns { left: left - 1 },
                };
                Ok(())
            }
            State::ColumnsEnd => {
                let status = eof_status(first, length, head).ok_or(OutOfSync("no EOF behind the columns"))?;
                self.status = status;
                // The results of a CALL have others behind them, and a cursor is never opened for one.
                let last = !status.contains(StatusFlags::MORE_RESULTS_EXISTS);
                self.out_parameters = !last && status.contains(StatusFlags::PS_OUT_PARAMS);
                if self.cursor && last && status.contains(StatusFlags::CURSOR_EXISTS) {
                    self.end();
                } else {
                    self.state = State::Rows;
                }
                Ok(())
            }
            State::Rows if self.ends_rows(length, head) => {
                let status = if self.deprecate_eof { ok_status(head) } else { eof_status(first, length, head) };
                self.status = status.ok_or(OutOfSync("the end of rows is cut"))?;
                if std::mem::take(&mut self.out_parameters) {
                    self.status |= StatusFlags::MORE_RESULTS_EXISTS;
                }
                self.end_or_more();
                Ok(())
            }
            State::Rows if self.fetched && first != 0 => Err(OutOfSync("not a binary row")),
            State::Rows => {
                self.rows += 1;
                Ok(())
            }
            State::Definitions { left } => {
                let is_eof = first == EOF && length < 9;
                if is_eof != self.eof_due(left) {
                    return Err(OutOfSync("not as many definitions as were announced"));
                }
                if left <= 1 {
                    self.end();
                } else {
                    self.state = State::Definitions { left: left - 1 };
                }
                Ok(())
            }
            State::BinlogEvents => {
                if first == EOF && length < 9 {
                    self.end();
                }
                Ok(())
            }
        }
    }

    fn first_packet(&mut self, shape: ReplyShape, first: u8, length: usize, head: &[u8]) -> Result<(), OutOfSync> {
        match shape {
            ReplyShape::Simple => {
                // COM_SET_OPTION, COM_DEBUG and COM_SHUTDOWN answer with an EOF where it is not deprecated.
                let status = match first {
                    OK => ok_status(head),
                    EOF if self.deprecate_eof => ok_status(head),
                    EOF => eof_status(first, length, head),
                    _ => None,
                };
                self.status = status.ok_or(OutOfSync("neither OK nor ERR"))?;
                self.end();
                Ok(())
            }
            // A definition, which is what a server sends too many of (see `definitions`), begins with 3.
            ReplyShape::Text if first < b' ' => Err(OutOfSync("not a text")),
            ReplyShape::Text => {
                self.end();
                Ok(())
            }
            ReplyShape::Results => match first {
                OK => {
                    self.status = ok_status(head).ok_or(OutOfSync("the OK is cut"))?;
                    let affected = head.get(1..).and_then(lenenc).map_or(0, |(affected, _)| affected);
                    self.affected = self.affected.saturating_add(affected);
                    self.end_or_more();
                    Ok(())
                }
                LOCAL_INFILE => {
                    self.then = Some(Stop::LocalInfile);
                    Ok(())
                }
                EOF => Err(OutOfSync("an EOF where a result begins")),
                _ => self.column_count(length, head),
            },
            ReplyShape::Prepare => {
                let prepared = PrepareOk::decode(head, self.capabilities).map_err(|_| OutOfSync("no PREPARE reply"))?;
                self.prepared = Some(prepared);
                match self.definitions(prepared) {
                    0 => self.end(),
                    left => self.state = State::Definitions { left },
                }
                Ok(())
            }
            ReplyShape::None | ReplyShape::Fields | ReplyShape::Rows | ReplyShape::BinlogEvents | ReplyShape::Login => {
                Err(OutOfSync("a reply that has no first packet"))
            }
        }
    }

    /// A result set begins with the number of its columns and, where metadata is optional, with whether they follow.
    fn column_count(&mut self, length: usize, head: &[u8]) -> Result<(), OutOfSync> {
        let (count, size) = lenenc(head).ok_or(OutOfSync("no number of columns"))?;
        let may_say = self.capabilities.intersects(METADATA_IS_OPTIONAL);
        if length != size && !(may_say && length == size + 1) {
            return Err(OutOfSync("more than a number of columns"));
        }
        let metadata_follows = if length > size { head.get(size) != Some(&0) } else { true };
        self.state = match (metadata_follows && count > 0, self.deprecate_eof) {
            (true, _) => State::Columns { left: count },
            // The EOF comes even when the metadata does not (checked on MySQL 9.7).
            (false, false) => State::ColumnsEnd,
            (false, true) => State::Rows,
        };
        Ok(())
    }

    /// How many packets follow a PREPARE's first: the EOFs come even without metadata (checked on MySQL 9.7).
    ///
    /// A server counts columns in 16 bits, and sends all definitions of a statement that has more (checked on MySQL 9.7:
    /// 65,791 columns are announced as 255). What is too many fits nowhere: a definition begins with 3, and is longer than
    /// a number of columns, so that no other reply begins with one, and the next command finds the stream out of sync.
    fn definitions(&self, prepared: PrepareOk) -> u32 {
        self.list(prepared, prepared.params) + self.list(prepared, prepared.columns)
    }

    /// The packets of one of a PREPARE's two lists.
    fn list(&self, prepared: PrepareOk, count: u16) -> u32 {
        let definitions = if prepared.metadata_follows { u32::from(count) } else { 0 };
        definitions + u32::from(count > 0 && !self.deprecate_eof)
    }

    /// Whether the packet with so many left, itself among them, is the EOF of one of the two lists.
    fn eof_due(&self, left: u32) -> bool {
        let columns = self.prepared.map_or(0, |prepared| self.list(prepared, prepared.columns));
        !self.deprecate_eof && (left == 1 || left == columns + 1)
    }

    fn error_packet(&mut self, head: &[u8]) -> Result<(), OutOfSync> {
        let code = match head.get(1..3) {
            Some(&[low, high]) => u16::from_le_bytes([low, high]),
            _ => return Err(OutOfSync("the ERR is cut")),
        };
        // Any client can have an error with that code, by SIGNAL; a progress report has no SQLSTATE.
        let is_progress = code == PROGRESS && self.progress && head.get(3) != Some(&b'#');
        if !is_progress {
            self.error = Some(code);
            self.end();
        }
        Ok(())
    }

    /// An OK that stands for an EOF may be longer than one, but is shorter than a full packet, which a row that begins
    /// with a value of 16 MiB is not.
    #[inline]
    fn ends_rows(&self, length: usize, head: &[u8]) -> bool {
        let limit = if self.deprecate_eof { crate::packet::MAX_PAYLOAD } else { 9 };
        head.first() == Some(&EOF) && length < limit
    }

    fn end_or_more(&mut self) {
        if self.status.contains(StatusFlags::MORE_RESULTS_EXISTS) {
            self.state = State::First(ReplyShape::Results);
        } else {
            self.end();
        }
    }

    fn end(&mut self) {
        self.state = State::Idle;
        self.then = Some(Stop::End);
    }
}

enum Judgement {
    Pass,
    Stop(Stop),
}

/// A length-encoded integer and the bytes it takes.
fn lenenc(bytes: &[u8]) -> Option<(u64, usize)> {
    let size = match bytes.first()? {
        &value @ 0..=0xFA => return Some((u64::from(value), 1)),
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return None,
    };
    let mut value = [0; 8];
    value[..size].copy_from_slice(bytes.get(1..1 + size)?);
    Some((u64::from_le_bytes(value), 1 + size))
}

/// The flags of an OK, behind its two counters.
fn ok_status(head: &[u8]) -> Option<StatusFlags> {
    let (_, affected) = lenenc(head.get(1..)?)?;
    let (_, insert_id) = lenenc(head.get(1 + affected..)?)?;
    flags_at(head, 1 + affected + insert_id)
}

/// The flags of an EOF, behind its warnings.
fn eof_status(first: u8, length: usize, head: &[u8]) -> Option<StatusFlags> {
    if first == EOF && length < 9 { flags_at(head, 3) } else { None }
}

fn flags_at(head: &[u8], at: usize) -> Option<StatusFlags> {
    let bytes = head.get(at..at + 2)?.first_chunk::<2>()?;
    Some(StatusFlags::from_bits_retain(u16::from_le_bytes(*bytes)))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod out_of_sync;

#[cfg(test)]
mod large_packets;
