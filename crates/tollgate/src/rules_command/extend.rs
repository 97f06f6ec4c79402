use std::process::ExitCode;

use serde_json::{Value as Json, json};

use super::shown;
use crate::http::escaped;
use crate::print::Output;
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct Extend {
    /// The rule.
    id: String,
    /// How long from now, such as 2h.
    #[arg(long = "for", value_name = "TIME", required_unless_present = "expires", conflicts_with = "expires")]
    lifetime: Option<String>,
    /// When it ends, such as 2026-04-21T16:00:00Z.
    #[arg(long, value_name = "MOMENT")]
    expires: Option<String>,
    /// Why it is still needed: another reason than before.
    #[arg(long)]
    reason: String,
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

impl Extend {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let path = format!("/rules/{}/extend", escaped(&self.id));
        let answer = self.proxy.running()?.post(&path, &self.json())?;
        self.output.show(&answer, |style| shown::added(&answer, "extended", style));
        Ok(ExitCode::SUCCESS)
    }

    fn json(&self) -> Json {
        json!({ "for": self.lifetime, "expires": self.expires, "reason": self.reason, "by": shown::by_hand() })
    }
}
