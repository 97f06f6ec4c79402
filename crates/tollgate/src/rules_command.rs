//! `tollgate rules`: the rules of a running proxy.

mod add;
mod end;
mod extend;
mod list;
mod shown;

use std::process::ExitCode;

use clap::Subcommand;

pub(crate) use shown::{added, by_hand};

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Every rule: of the file, of the run time, and built in.
    List(list::List),
    /// Put a rule in force. It expires by itself.
    ///
    /// For example: `tollgate rules add --user etl --class write,ddl --ratio 0.9 --for 2h --reason 'INC-42: replicas lag'`
    Add(Box<add::Add>),
    /// Give a rule of the run time another end, for a new reason.
    Extend(extend::Extend),
    /// End rules of the run time before their time.
    End(end::End),
}

pub(crate) fn run(command: &RulesCommand) -> anyhow::Result<ExitCode> {
    match command {
        RulesCommand::List(list) => list.run(),
        RulesCommand::Add(add) => add.run(),
        RulesCommand::Extend(extend) => extend.run(),
        RulesCommand::End(end) => end.run(),
    }
}
