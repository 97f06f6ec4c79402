//! Who asks, with all that follows from it until the policy changes: identity, candidates, counters.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use identity::{Identities, Said};

use crate::gatekeeper::Gatekeeper;
use crate::login::Login;
use crate::policy::Policy;
use crate::stats::ClientStats;
use crate::who::Who;

/// Names that one session's queries may take turns in before they are looked up anew.
const RECENT: usize = 8;

#[derive(Debug)]
pub(crate) struct Asker {
    pub(crate) who: Who,
    pub(crate) stats: Arc<ClientStats>,
}

impl Asker {
    fn new(keeper: &Gatekeeper, policy: &Policy, identities: Identities) -> Asker {
        let identity = &identities.claimed;
        let make = || ClientStats::of(identity);
        let stats = keeper.clients.entry(&identity.user, &identity.name, keeper.uptime_millis(), make);
        keeper.conflicts.fetch_add(u64::from(identities.conflicts), Ordering::Relaxed);
        Asker { who: Who::new(policy, identities), stats }
    }

    /// The same one under another policy.
    pub(crate) fn under(&self, policy: &Policy) -> Asker {
        Asker { who: Who::new(policy, self.who.identities.clone()), stats: Arc::clone(&self.stats) }
    }
}

/// Those who ask in one session: the connection itself, and those whom its queries name.
#[derive(Debug)]
pub(crate) struct Askers {
    login: Arc<Login>,
    own: Arc<Asker>,
    /// By [`Said::key`], the latest last.
    recent: Vec<(u64, Arc<Asker>)>,
}

impl Askers {
    pub(crate) fn new(keeper: &Gatekeeper, policy: &Policy, login: &Arc<Login>) -> Askers {
        let own = Arc::new(Asker::new(keeper, policy, login.identities(&policy.identity)));
        Askers { login: Arc::clone(login), own, recent: Vec::new() }
    }

    pub(crate) fn renew(&mut self, keeper: &Gatekeeper, policy: &Policy) {
        *self = Askers::new(keeper, policy, &self.login);
    }

    #[inline]
    pub(crate) fn own(&self) -> &Arc<Asker> {
        &self.own
    }

    /// The one who says this of itself, if it says anything that anybody looks at.
    #[inline]
    pub(crate) fn of(&mut self, keeper: &Gatekeeper, policy: &Policy, said: Option<Said<'_>>) -> &Arc<Asker> {
        match said {
            Some(said) => self.named(keeper, policy, said),
            None => &self.own,
        }
    }

    fn named(&mut self, keeper: &Gatekeeper, policy: &Policy, mut said: Said<'_>) -> &Arc<Asker> {
        policy.keep_what_is_read(&mut said);
        if said.is_empty() {
            return &self.own;
        }
        let key = said.key();
        let known = self.recent.iter().position(|(known, _)| *known == key);
        let at = known.unwrap_or_else(|| {
            let identities = identity::of_query(&policy.identity, &self.own.who.identities, &said);
            if self.recent.len() >= RECENT {
                self.recent.remove(0);
            }
            self.recent.push((key, Arc::new(Asker::new(keeper, policy, identities))));
            self.recent.len() - 1
        });
        self.recent.get(at).map_or(&self.own, |(_, asker)| asker)
    }
}
