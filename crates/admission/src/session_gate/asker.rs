//! Who asks, with all that follows from it until the policy changes: identity, candidates, counters.

use std::net::IpAddr;
use std::sync::Arc;

use identity::{Connection, Identities, Said};
use rules::{Candidates, Judgement, LoginJudgement, Mode, Query, Timestamp};

use crate::gatekeeper::Gatekeeper;
use crate::policy::Policy;
use crate::port::Client;
use crate::stats::ClientStats;

/// Names that one session's queries may take turns in before they are looked up anew.
const RECENT: usize = 8;

#[derive(Debug)]
pub(crate) struct Asker {
    pub(crate) identities: Identities,
    claimed: Candidates,
    trusted: Candidates,
    pub(crate) stats: Arc<ClientStats>,
}

impl Asker {
    fn new(keeper: &Gatekeeper, policy: &Policy, identities: Identities) -> Arc<Asker> {
        let identity = &identities.claimed;
        let make = || ClientStats::of(identity);
        let stats = keeper.clients.entry(&identity.user, &identity.name, keeper.uptime_millis(), make);
        Arc::new(Asker {
            claimed: policy.rules.candidates(identity),
            trusted: identities.trusted.as_ref().map(|identity| policy.rules.candidates(identity)).unwrap_or_default(),
            stats,
            identities,
        })
    }

    pub(crate) fn of_connection(keeper: &Gatekeeper, policy: &Policy, client: &Client<'_>) -> Arc<Asker> {
        Owned::new(client).asker(keeper, policy)
    }

    /// The same one under another policy.
    pub(crate) fn renewed(&self, keeper: &Gatekeeper, policy: &Policy) -> Arc<Asker> {
        Asker::new(keeper, policy, self.identities.clone())
    }

    /// Judged on all facts, and on the trusted ones alone where that may differ; the stricter stands.
    pub(crate) fn judge<'p, Q: Query>(&self, policy: &'p Policy, question: &Q, now: Timestamp) -> Judgement<'p> {
        let judge = |candidates, identity| policy.rules.judge(candidates, identity, question, now, Mode::Enforce);
        let claimed = judge(&self.claimed, &self.identities.claimed);
        match &self.identities.trusted {
            Some(trusted) => judge(&self.trusted, trusted).stricter(claimed),
            None => claimed,
        }
    }

    pub(crate) fn judge_login<'p>(
        &self,
        policy: &'p Policy,
        schema: Option<&[u8]>,
        now: Timestamp,
    ) -> LoginJudgement<'p> {
        let judge = |candidates, identity| policy.rules.judge_login(candidates, identity, schema, now, Mode::Enforce);
        let claimed = judge(&self.claimed, &self.identities.claimed);
        match &self.identities.trusted {
            Some(trusted) => judge(&self.trusted, trusted).stricter(claimed),
            None => claimed,
        }
    }
}

/// Those who ask in one session: the connection itself, and those whom its queries name.
#[derive(Debug)]
pub(crate) struct Askers {
    client: Owned,
    own: Arc<Asker>,
    /// By [`Said::key`], the latest last.
    recent: Vec<(u64, Arc<Asker>)>,
}

impl Askers {
    pub(crate) fn new(keeper: &Gatekeeper, policy: &Policy, client: &Client<'_>) -> Askers {
        let client = Owned::new(client);
        let own = client.asker(keeper, policy);
        Askers { client, own, recent: Vec::new() }
    }

    pub(crate) fn renew(&mut self, keeper: &Gatekeeper, policy: &Policy) {
        self.own = self.client.asker(keeper, policy);
        self.recent.clear();
    }

    #[inline]
    pub(crate) fn own(&self) -> &Arc<Asker> {
        &self.own
    }

    pub(crate) fn of(&mut self, keeper: &Gatekeeper, policy: &Policy, said: Option<&Said<'_>>) -> Arc<Asker> {
        match said.filter(|said| !said.is_empty()) {
            Some(said) => self.named(keeper, policy, said),
            None => Arc::clone(&self.own),
        }
    }

    fn named(&mut self, keeper: &Gatekeeper, policy: &Policy, said: &Said<'_>) -> Arc<Asker> {
        let key = said.key();
        if let Some((_, asker)) = self.recent.iter().find(|(known, _)| *known == key) {
            return Arc::clone(asker);
        }
        let identities = identity::of_query(&policy.identity, &self.own.identities, said);
        let asker = Asker::new(keeper, policy, identities);
        if self.recent.len() >= RECENT {
            self.recent.remove(0);
        }
        self.recent.push((key, Arc::clone(&asker)));
        asker
    }
}

/// The facts of a login, kept for when the settings of names or trust change.
#[derive(Debug)]
struct Owned {
    user: Box<[u8]>,
    address: Option<IpAddr>,
    listener: Arc<str>,
    certificate: Option<Box<str>>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Owned {
    fn new(client: &Client<'_>) -> Owned {
        Owned {
            user: client.user.into(),
            address: client.address.map(|address| address.ip()),
            listener: client.listener.into(),
            certificate: client.certificate.map(Box::from),
            attributes: client.attributes.to_vec(),
        }
    }

    fn asker(&self, keeper: &Gatekeeper, policy: &Policy) -> Arc<Asker> {
        let connection = Connection {
            user: &self.user,
            address: self.address,
            certificate: self.certificate.as_deref(),
            listener: &self.listener,
            attributes: &self.attributes,
        };
        Asker::new(keeper, policy, identity::of_connection(&policy.identity, &connection))
    }
}
