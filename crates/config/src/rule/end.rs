//! When a rule ends, said in the way that fits where it stands.

use std::time::Duration;

use rules::Timestamp;

use super::Kind;
use super::resolve::Resolver;
use crate::raw::A_YEAR;
use crate::tree::At;

/// For an example of an end, where it is not known what the rule does.
pub(super) const A_DAY: Duration = Duration::from_secs(24 * 3600);

pub(super) struct End {
    pub(super) expires: Option<Timestamp>,
    pub(super) lifetime: Option<Duration>,
    pub(super) permanent: bool,
}

impl Resolver<'_> {
    pub(super) fn end(&mut self, written: &End, usual: Duration) -> End {
        let none = End { expires: None, lifetime: None, permanent: false };
        match self.kind {
            Kind::File => self.end_in_file(written, usual),
            Kind::Template => {
                for (key, there) in [("expires", written.expires.is_some()), ("permanent", written.permanent)] {
                    if there {
                        let what = "a rule of a playbook lasts from the opening of an incident";
                        self.refuse(key, At::Key, what, "write how long, as in `for: 2h`");
                    }
                }
                End { lifetime: Some(written.lifetime.unwrap_or(usual)), ..none }
            }
            Kind::Runtime => self.end_at_run_time(written, usual),
            Kind::Stored => {
                if written.expires.is_none() {
                    self.refuse(
                        "expires",
                        At::Key,
                        "the rule's end is missing",
                        "every rule added at run time has one",
                    );
                }
                End { expires: written.expires, ..none }
            }
        }
    }

    fn end_in_file(&mut self, written: &End, usual: Duration) -> End {
        let example = Timestamp(self.now.plus(usual).0 / 60_000 * 60_000);
        if written.lifetime.is_some() {
            let what = "a duration would start anew with every reading of this file";
            self.refuse("for", At::Key, what, format!("write the moment, as in `expires: {example}`"));
        }
        match (written.expires, written.permanent) {
            (Some(_), true) => {
                let remedy = "keep one of `expires` and `permanent`";
                self.refuse("permanent", At::Key, "a rule that expires is not permanent", remedy);
            }
            (None, false) if written.lifetime.is_none() => {
                let remedy = format!("add `expires: {example}` or another moment, or `permanent: true`");
                self.refuse("expires", At::Value, "the rule does not say when it ends", remedy);
            }
            (None, true | false) | (Some(_), false) => {}
        }
        End { expires: written.expires, lifetime: None, permanent: written.permanent }
    }

    fn end_at_run_time(&mut self, written: &End, usual: Duration) -> End {
        if written.permanent {
            let what = "every rule added at run time expires";
            self.refuse("permanent", At::Key, what, "write it into proxy.yaml, or say how long: `for: 2h`");
        }
        if written.expires.is_some() && written.lifetime.is_some() {
            self.refuse("for", At::Key, "`for` and `expires` both say when the rule ends", "keep one of them");
        }
        let expires = written.expires.unwrap_or(self.now.plus(written.lifetime.unwrap_or(usual)));
        if expires <= self.now {
            let what = format!("{expires} is over: it is {} now", self.now);
            self.refuse("expires", At::Value, what, "write a later moment, or how long: `for: 2h`");
        } else if expires.since(self.now) > Duration::from_millis(A_YEAR) {
            self.refuse(
                "expires",
                At::Value,
                "this is more than a year from now",
                "write a permanent rule into proxy.yaml",
            );
        }
        End { expires: Some(expires), lifetime: None, permanent: false }
    }
}
