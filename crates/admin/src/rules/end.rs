use axum::extract::{Path, State};

use crate::answer::Answer;
use crate::control::{Command, Controller};
use crate::sent::Sent;

/// `DELETE /rules/{id}`: ends a rule of the run time before its time.
pub(crate) async fn end(State(controller): State<Controller>, Path(id): Path<String>, Sent(change): Sent) -> Answer {
    Answer(controller.ask(Command::End { id, change }).await)
}
