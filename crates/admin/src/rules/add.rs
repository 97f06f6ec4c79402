use axum::extract::State;

use crate::answer::Created;
use crate::control::{Command, Controller};
use crate::sent::SentText;

/// `POST /rules`: a rule as proxy.yaml would have it, with `for` or `expires`.
pub(crate) async fn add(State(controller): State<Controller>, SentText(rule): SentText) -> Created {
    Created(controller.ask(Command::Add { rule }).await)
}
