//! What is said: statements whose results are the same each time on a fresh schema, over the text and the binary
//! protocol, and every command that a session may send and survive.

mod commands;
mod statements;

use sandbox::Flavor;
use wire::Capabilities;

use super::values::Value;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// COM_QUERY, with query attributes where they are agreed on.
    Query(String, Vec<(&'static str, Value)>),
    /// A name, and the payload as it is.
    Command(&'static str, Vec<u8>),
    Prepare(String),
    /// COM_STMT_EXECUTE of the statement prepared last.
    Execute {
        flags: u8,
        values: Vec<Value>,
        types: bool,
    },
    /// Another command on the statement prepared last: its byte, and what follows the id.
    OnStatement(u8, Vec<u8>),
    /// LOAD DATA LOCAL, with the packets of its file.
    Load(String, Vec<Vec<u8>>),
}

impl Step {
    pub(crate) fn name(&self) -> String {
        let mut name = match self {
            Step::Query(sql, _) => format!("COM_QUERY {sql}"),
            Step::Command(name, payload) => format!("{name}, {} bytes", payload.len()),
            Step::Prepare(sql) => format!("COM_STMT_PREPARE {sql}"),
            Step::Execute { flags, values, .. } => format!("COM_STMT_EXECUTE flags {flags}, {values:?}"),
            Step::OnStatement(command, rest) => format!("command {command:#x} on the statement, {rest:?}"),
            Step::Load(sql, file) => format!("{sql}, a file of {} packets", file.len()),
        };
        if name.len() > 300 {
            let cut = (0..=300).rev().find(|&at| name.is_char_boundary(at)).unwrap_or(0);
            name.truncate(cut);
            name.push('…');
        }
        name
    }

    fn query(sql: &str) -> Step {
        Step::Query(sql.to_owned(), Vec::new())
    }

    fn execute(values: Vec<Value>) -> Step {
        Step::Execute { flags: 0, values, types: true }
    }
}

/// `schema` is the one that the session has chosen.
pub(crate) fn steps(flavor: Flavor, schema: &str, capabilities: Capabilities, large: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let own = match flavor {
        Flavor::Mysql => [statements::MYSQL_TEXT, statements::MYSQL_BOTH],
        Flavor::Mariadb => [statements::MARIADB_TEXT, statements::MARIADB_BOTH],
    };
    let [own_text, own_both] = own;
    steps.extend(statements::SCHEMA.iter().chain(own_text).map(|sql| Step::query(sql)));
    for sql in statements::BOTH.iter().chain(own_both) {
        steps.push(Step::query(sql));
        steps.push(Step::Prepare((*sql).to_owned()));
        steps.push(Step::execute(Vec::new()));
        steps.push(Step::OnStatement(commands::CLOSE, Vec::new()));
    }
    steps.extend(statements::TEXT.iter().map(|sql| Step::query(sql)));
    steps.extend(commands::steps(flavor, schema, capabilities));
    if large {
        steps.extend(commands::large());
    }
    steps
}
