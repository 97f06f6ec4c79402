use std::process::ExitCode;

use serde_json::{Value as Json, json};

use super::shown::by_hand;
use crate::http::escaped;
use crate::print::{Output, text};
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct End {
    /// The rules.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

impl End {
    /// One after the other; what cannot be ended does not keep the others in force.
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let proxy = self.proxy.running()?;
        let mut code = ExitCode::SUCCESS;
        for id in &self.ids {
            match proxy.delete(&format!("/rules/{}", escaped(id)), &json!({ "by": by_hand() })) {
                Ok(answer) => self.output.show(&answer, |_| shown(&answer)),
                Err(error) => {
                    eprintln!("tollgate: {error:#}");
                    code = ExitCode::FAILURE;
                }
            }
        }
        Ok(code)
    }
}

fn shown(rule: &Json) -> String {
    format!("ended {}; it had decided {} times\n", text(rule, "id"), text(rule, "decided"))
}
