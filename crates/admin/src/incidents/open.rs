use axum::extract::State;

use crate::answer::Created;
use crate::control::{Command, Controller};
use crate::sent::Sent;

/// `POST /incidents`: opens one, with the rules of a playbook.
pub(crate) async fn open(State(controller): State<Controller>, Sent(incident): Sent) -> Created {
    Created(controller.ask(Command::OpenIncident { incident }).await)
}
