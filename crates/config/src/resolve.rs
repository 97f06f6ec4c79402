//! Raw → plan: defaults are filled in, paths joined to the file's folder, secrets fetched, and keys compared with each other.

mod files;
mod gates;
mod listen;
mod metrics;
mod policy;
mod probe;
mod upstream;

use std::path::Path;

use rules::Timestamp;

use crate::disk::Disk;
use crate::load::{Elsewhere, Surroundings};
use crate::plan::{Admin, Drain, Limits, Log, Plan, UpstreamAddress};
use crate::raw::{Raw, RawDrain, RawLimits, RawReplicas};
use crate::tree::{At, KeyPath, Node, Step, Trouble};
use crate::value::shown;
use policy::RawPolicy;

/// The value of an environment variable, if it is set.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<std::ffi::OsString>;

/// Turns what was written into a plan. `troubles` holds what was found before; the plan is whole only if nothing was
/// found then or now.
pub(crate) fn resolve(raw: Raw, folder: &Path, around: &Surroundings<'_>, troubles: &mut Vec<Trouble>) -> Option<Plan> {
    // A section that was read only in part would be blamed for what was taken out of it.
    let blamed: Vec<Vec<Step>> = troubles.iter().map(|trouble| trouble.path().section().to_vec()).collect();
    let mut resolver = Resolver {
        folder,
        environment: around.environment,
        disk: &around.disk,
        elsewhere: around.elsewhere,
        now: around.now,
        blamed: &blamed,
        troubles: Vec::new(),
    };
    let plan = resolver.plan(raw);
    let misspelt_section = troubles.iter().any(|trouble| trouble.known_keys.is_some() && trouble.path().0.len() == 1);
    troubles.extend(resolver.troubles.into_iter().filter(|trouble| {
        let path = trouble.path();
        let follows = misspelt_section && path == KeyPath::of("upstream.address");
        !follows && !blamed.iter().any(|blamed| blamed == path.section())
    }));
    plan.filter(|_| troubles.is_empty())
}

struct Resolver<'a> {
    folder: &'a Path,
    environment: Environment<'a>,
    disk: &'a Disk,
    elsewhere: Elsewhere,
    now: Timestamp,
    /// What was read only in part.
    blamed: &'a [Vec<Step>],
    troubles: Vec<Trouble>,
}

/// What of other sections decides whether a metric can be measured.
struct Surrounding {
    probe: bool,
    replicas: bool,
    /// The upstream is surely on this machine, or it is not.
    remote: bool,
}

impl Resolver<'_> {
    fn plan(&mut self, mut raw: Raw) -> Option<Plan> {
        let around = Surrounding {
            probe: raw.probe.user.is_some() || raw.probe.password.is_some(),
            replicas: raw.upstream.replicas.as_ref().is_some_and(|replicas| match replicas {
                RawReplicas::Listed(addresses) => !addresses.is_empty(),
                RawReplicas::Discover => true,
            }),
            remote: raw.upstream.address.as_ref().is_some_and(|address| !address.0.is_local()),
        };
        let policy = RawPolicy::take_from(&mut raw);
        let state_dir = self.folder.join(raw.state_dir.map_or_else(|| "./state".into(), |path| path.0));
        let listen = self.listen(raw.listen);
        let upstream = self.upstream(raw.upstream, &around);
        let tls = self.client_tls(raw.tls);
        let limits = limits(&raw.limits);
        let probe = self.probe(raw.probe);
        let mut policy = self.policy(policy, &around);
        if let Some(heartbeat) = probe.as_ref().and_then(|probe| probe.heartbeat.as_ref()) {
            policy.heartbeat_writers.add(&heartbeat.table);
        }
        let drain = self.drain(&raw.drain);
        let admin_place = if raw.admin.http.is_some() { "admin.http" } else { "listen" };
        let host_names = raw.admin.host_names.map_or_else(Vec::new, |names| names.0);
        let admin = Admin {
            http: raw.admin.http.map_or_else(|| Admin::default().http, |http| http.0),
            host_names: host_names.into_iter().map(|name| name.0).collect(),
        };
        let log = Log { format: raw.log.format.unwrap_or_default(), level: raw.log.level.unwrap_or_default() };
        let workers = raw.workers.map(|workers| workers.0).unwrap_or_default();

        self.refuse_shared_address(&listen, &admin, admin_place);
        if let Some(upstream) = &upstream {
            self.refuse_loop(&listen, &upstream.address);
        }
        Some(Plan { listen, upstream: upstream?, tls, limits, probe, drain, workers, admin, log, policy, state_dir })
    }

    fn drain(&mut self, raw: &RawDrain) -> Drain {
        let usual = Drain::default();
        let deadline = raw.deadline.map_or(usual.deadline, |span| span.0);
        // Who only shortens the deadline wants the wait to fit in it.
        let wait = raw.wait.map_or(usual.wait.min(deadline), |span| span.0);
        if wait > deadline {
            let what = "the wait is longer than the deadline, which counts from the same signal";
            let most = u64::try_from(deadline.as_millis()).map(shown).unwrap_or_default();
            let remedy = format!("write a wait of at most `{most}`, or a longer `drain.deadline`");
            self.refuse("drain.wait", At::Value, what, remedy);
        }
        Drain { wait, deadline }
    }

    /// Of such a section nothing can be missed.
    fn is_read_in_part(&self, section: &str) -> bool {
        let section = KeyPath::of(section);
        self.blamed.iter().any(|blamed| blamed.first() == section.0.first())
    }

    /// The entries of a map with names that users give; nothing at all is an empty one.
    fn entries<'n>(
        &mut self,
        node: Option<&'n Node>,
        place: &KeyPath,
        what: &str,
        remedy: &str,
    ) -> &'n [(String, Node)] {
        match node {
            None | Some(Node::Null) => &[],
            Some(Node::Map(entries)) => entries,
            Some(_) => {
                self.refuse_at(place.clone(), At::Value, format!("this is not a map of {what}"), remedy);
                &[]
            }
        }
    }

    fn refuse(&mut self, keys: &str, at: At, what: impl Into<String>, remedy: impl Into<String>) {
        self.refuse_at(KeyPath::of(keys), at, what, remedy);
    }

    fn refuse_at(&mut self, path: KeyPath, at: At, what: impl Into<String>, remedy: impl Into<String>) {
        // The first word on a key is the one that matters; the rest follows from it.
        if !self.troubles.iter().any(|trouble| trouble.path() == path) {
            self.troubles.push(Trouble::new(path, at, what, remedy));
        }
    }
}

fn limits(raw: &RawLimits) -> Limits {
    let usual = Limits::default();
    let connections = raw.connections.map_or(usual.connections, |count| count.0);
    // A small `connections` brings this one and `upstream_logins` down with it.
    let unauthenticated = raw.unauthenticated.map_or(usual.unauthenticated.min(connections), |count| count.0);
    let per_address = raw.unauthenticated_per_address.map_or(unauthenticated.div_ceil(2), |count| count.0);
    Limits {
        connections,
        per_user: raw.per_user.map(|count| count.0).filter(|count| *count > 0),
        per_address: raw.per_address.map(|count| count.0).filter(|count| *count > 0),
        unauthenticated,
        unauthenticated_per_address: Some(per_address).filter(|count| *count > 0),
        upstream_logins: raw.upstream_logins.map_or(usual.upstream_logins.min(connections), |count| count.0),
        login_time: raw.login_time.map_or(usual.login_time, |span| span.0),
        login_size: raw.login_size.map_or(usual.login_size, |size| size.0),
        inspect: raw.inspect.map_or(usual.inspect, |size| size.0),
    }
}

/// The address as a number, where it is one.
fn number(address: &UpstreamAddress) -> Option<std::net::IpAddr> {
    match address {
        UpstreamAddress::Tcp { host, .. } => host.parse().ok(),
        UpstreamAddress::Socket(_) => None,
    }
}
