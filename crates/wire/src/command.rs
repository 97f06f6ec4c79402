//! The command byte that opens every request, and the reply that follows it.
//!
//! The policy for bytes we do not know is here: a command whose reply we could not follow is refused with 1047, as a
//! server does that does not know it either. It is never answered with an invented OK, and never forwarded blindly:
//! losing track of a reply would let what comes next pass unseen.

/// A request whose reply the tracker can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Command {
    Quit = 0x01,
    InitDb = 0x02,
    Query = 0x03,
    FieldList = 0x04,
    CreateDb = 0x05,
    DropDb = 0x06,
    Refresh = 0x07,
    Shutdown = 0x08,
    Statistics = 0x09,
    ProcessInfo = 0x0A,
    ProcessKill = 0x0C,
    Debug = 0x0D,
    Ping = 0x0E,
    ChangeUser = 0x11,
    BinlogDump = 0x12,
    RegisterSlave = 0x15,
    StmtPrepare = 0x16,
    StmtExecute = 0x17,
    StmtSendLongData = 0x18,
    StmtClose = 0x19,
    StmtReset = 0x1A,
    SetOption = 0x1B,
    StmtFetch = 0x1C,
    BinlogDumpGtid = 0x1E,
    ResetConnection = 0x1F,
    /// MariaDB's array binding.
    StmtBulkExecute = 0xFA,
}

/// What comes back for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplyShape {
    /// Nothing at all.
    None,
    /// One OK, EOF or ERR.
    Simple,
    /// One packet of text, or ERR.
    Text,
    /// OK, ERR, a request for a local file, or result sets, one after the other.
    Results,
    /// A prepared statement's id with the definitions of its parameters and columns.
    Prepare,
    /// Column definitions, up to an EOF.
    Fields,
    /// Binary rows, up to an EOF.
    Rows,
    /// Binlog events until the connection ends, or EOF or ERR.
    BinlogEvents,
    /// The exchange of a login.
    Login,
}

impl Command {
    /// `None`: unknown, internal to servers (COM_SLEEP, COM_CONNECT, COM_TIME, COM_DELAYED_INSERT, COM_TABLE_DUMP,
    /// COM_CONNECT_OUT, COM_DAEMON), or a protocol of its own (COM_CLONE, COM_SUBSCRIBE_GROUP_REPLICATION_STREAM).
    #[inline]
    pub fn from_byte(byte: u8) -> Option<Command> {
        Some(match byte {
            0x01 => Command::Quit,
            0x02 => Command::InitDb,
            0x03 => Command::Query,
            0x04 => Command::FieldList,
            0x05 => Command::CreateDb,
            0x06 => Command::DropDb,
            0x07 => Command::Refresh,
            0x08 => Command::Shutdown,
            0x09 => Command::Statistics,
            0x0A => Command::ProcessInfo,
            0x0C => Command::ProcessKill,
            0x0D => Command::Debug,
            0x0E => Command::Ping,
            0x11 => Command::ChangeUser,
            0x12 => Command::BinlogDump,
            0x15 => Command::RegisterSlave,
            0x16 => Command::StmtPrepare,
            0x17 => Command::StmtExecute,
            0x18 => Command::StmtSendLongData,
            0x19 => Command::StmtClose,
            0x1A => Command::StmtReset,
            0x1B => Command::SetOption,
            0x1C => Command::StmtFetch,
            0x1E => Command::BinlogDumpGtid,
            0x1F => Command::ResetConnection,
            0xFA => Command::StmtBulkExecute,
            _ => return None,
        })
    }

    #[inline]
    pub fn reply_shape(self) -> ReplyShape {
        match self {
            Command::Quit | Command::StmtSendLongData | Command::StmtClose => ReplyShape::None,
            Command::InitDb
            | Command::CreateDb
            | Command::DropDb
            | Command::Refresh
            | Command::Shutdown
            | Command::ProcessKill
            | Command::Debug
            | Command::Ping
            | Command::RegisterSlave
            | Command::StmtReset
            | Command::SetOption
            | Command::ResetConnection => ReplyShape::Simple,
            Command::Statistics => ReplyShape::Text,
            Command::Query | Command::ProcessInfo | Command::StmtExecute | Command::StmtBulkExecute => {
                ReplyShape::Results
            }
            Command::StmtPrepare => ReplyShape::Prepare,
            Command::FieldList => ReplyShape::Fields,
            Command::StmtFetch => ReplyShape::Rows,
            Command::BinlogDump | Command::BinlogDumpGtid => ReplyShape::BinlogEvents,
            Command::ChangeUser => ReplyShape::Login,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_its_own_byte_and_the_rest_by_none() {
        let known: Vec<u8> = (0..=255u8).filter(|&byte| Command::from_byte(byte).is_some()).collect();
        assert_eq!(known.len(), 26);
        for byte in known {
            assert_eq!(Command::from_byte(byte).map(|command| command as u8), Some(byte));
        }
    }
}
