use axum::extract::{Path, State};

use crate::answer::Answer;
use crate::control::{Command, Controller};
use crate::sent::Sent;

/// `DELETE /incidents/{id}`: ends the rules that its playbook had put in force.
pub(crate) async fn close(State(controller): State<Controller>, Path(id): Path<String>, Sent(change): Sent) -> Answer {
    Answer(controller.ask(Command::CloseIncident { id, change }).await)
}
