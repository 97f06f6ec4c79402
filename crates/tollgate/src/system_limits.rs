//! What the system allows, against what the configuration promises: said at start, not found out under load.

use std::fs;
use std::net::IpAddr;

use config::{Plan, UpstreamAddress};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

/// Descriptors for everything but sessions: listeners, log, admin, probes, runtimes.
const OWN_DESCRIPTORS: u64 = 64;

pub(crate) fn check(plan: &Plan) {
    let needed = plan.limits.connections as u64 * 2 + OWN_DESCRIPTORS;
    match raise_descriptors(needed) {
        Some(allowed) if allowed < needed => warn!(
            allowed,
            needed,
            "too few file descriptors for limits.connections (two a session); \
             raise them (ulimit -n, LimitNOFILE=) or lower limits.connections"
        ),
        allowed => info!(allowed, needed, "file descriptors"),
    }
    check_ports(plan);
}

/// Raises the soft limit as far as needed and allowed. `None`: there is no limit.
fn raise_descriptors(needed: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current?;
    if current >= needed {
        return Some(current);
    }
    let wanted = maximum.map_or(needed, |maximum| maximum.min(needed));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => Some(wanted),
        Err(_) => Some(current),
    }
}

/// Each session takes a local port towards the one upstream address.
fn check_ports(plan: &Plan) {
    let UpstreamAddress::Tcp { host, .. } = &plan.upstream.address else { return };
    let Ok(range) = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range") else { return };
    let Some(ports) = port_count(&range) else { return };
    if plan.limits.connections > ports {
        let address = host.parse::<IpAddr>().map_or("a name", |_| "one address");
        warn!(
            ports,
            connections = plan.limits.connections,
            "too few local ports for limits.connections towards {address}; \
             widen net.ipv4.ip_local_port_range, use a socket, or lower limits.connections"
        );
    }
}

fn port_count(range: &str) -> Option<usize> {
    let mut ends = range.split_whitespace().map(str::parse::<usize>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some((high + 1).saturating_sub(low))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_of_a_range() {
        for (range, count) in [("32768\t60999\n", Some(28_232)), ("5 4", Some(0)), ("x", None), ("", None)] {
            assert_eq!(super::port_count(range), count, "{range:?}");
        }
    }
}
