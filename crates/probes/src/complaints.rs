//! Trouble is said when it begins, when it changes and when it is over, and not at every sample.

use std::fmt::Display;

use health::Unknown;
use tracing::{info, warn};

#[derive(Debug)]
pub(crate) struct Complaints {
    what: String,
    last: Option<Unknown>,
}

impl Complaints {
    pub(crate) fn new(what: impl Into<String>) -> Complaints {
        Complaints { what: what.into(), last: None }
    }

    pub(crate) fn failed(&mut self, why: Unknown, error: Option<&mysql_async::Error>) {
        match error {
            Some(error) => self.say(why, error),
            None => self.say(why, &why.means()),
        }
    }

    pub(crate) fn say(&mut self, why: Unknown, error: &dyn Display) {
        if self.last.replace(why) != Some(why) {
            warn!(%why, %error, "{}", self.what);
        }
    }

    pub(crate) fn fine(&mut self) {
        if let Some(why) = self.last.take() {
            info!(%why, "over: {}", self.what);
        }
    }
}
