//! The command line.

use crate::contestant::Role;
use clap::Parser;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, Parser)]
#[command(name = "bench", about = "Measures Tollgate against direct, a bare relay and HAProxy, in interleaved rounds")]
pub struct Options {
    /// How many rounds; in each, every contestant runs every workload once
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Seconds of a sysbench run; the other workloads take a fraction of it
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub seconds: u32,
    /// Only these workloads and contestants, by name or by the start of it (text, text-8, stream, haproxy …)
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub only: Vec<String>,
    /// Under two minutes: text point selects, latency, one large result, connecting, memory; 6 rounds at most
    #[arg(long)]
    pub quick: bool,
    /// Also write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Another proxy that already runs before the same server; with @PID also its CPU time
    #[arg(long, value_name = "NAME=HOST:PORT[@PID]", value_parser = parse_outsider)]
    pub against: Vec<Outsider>,
    /// A build of Tollgate, instead of the one beside this program; more than once to compare builds
    #[arg(long, value_name = "[NAME=]PATH", value_parser = parse_build)]
    pub tollgate: Vec<Build>,
    /// One more contestant: the last build of Tollgate, with so many rules of which none matches
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rules: Option<u32>,
    /// Count the system calls a query with strace, by name, and measure nothing else
    #[arg(long)]
    pub syscalls: bool,
    /// A MySQL that already runs, instead of one of our own; a schema is made in it and dropped
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub mysql: Option<SocketAddr>,
    /// The account on that MySQL: all privileges, caching_sha2_password
    #[arg(long, default_value = "app")]
    pub user: String,
    #[arg(long, default_value = "app-pw")]
    pub password: String,
    /// List the workloads and contestants, and end
    #[arg(long)]
    pub list: bool,
}

/// A proxy that somebody else has started.
#[derive(Clone, Debug, PartialEq)]
pub struct Outsider {
    pub name: String,
    pub address: SocketAddr,
    pub pid: Option<u32>,
}

/// A Tollgate binary and the name it goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    pub name: String,
    pub program: PathBuf,
}

impl Options {
    /// When a quick run begins no further round. Long runs have no limit but their rounds.
    pub fn limit(&self) -> Option<Duration> {
        self.quick.then_some(Duration::from_secs(108))
    }

    pub fn round_count(&self) -> u32 {
        if self.quick { self.rounds.min(6) } else { self.rounds }
    }

    pub fn slice(&self) -> Duration {
        let share = if self.quick { 0.3 } else { 0.5 };
        Duration::from_secs(self.seconds.into()).mul_f64(share)
    }

    /// Names of either kind choose within their kind: `--only haproxy stream` is HAProxy on large results.
    pub fn wants(&self, name: &str, all_of_kind: &[String]) -> bool {
        !self.names_any(all_of_kind) || self.only.iter().any(|wanted| is_called(name, wanted))
    }

    pub fn names_any(&self, names: &[String]) -> bool {
        self.only.iter().any(|wanted| names.iter().any(|name| is_called(name, wanted)))
    }

    /// A name that nobody has would otherwise choose everything.
    pub fn refuse_unknown_names(&self, known: &[String]) -> anyhow::Result<()> {
        let unknown = self.only.iter().find(|wanted| !known.iter().any(|name| is_called(name, wanted)));
        match unknown {
            Some(unknown) => anyhow::bail!("nothing here is called {unknown}; --list shows the names"),
            None => Ok(()),
        }
    }

    /// The second relay is for comparing runtimes, which a quick run leaves out unless asked.
    pub fn wants_role(&self, role: Role, name: &str) -> bool {
        role != Role::RelayPerCore || !self.quick || self.only.iter().any(|wanted| wanted == name)
    }
}

/// Either exactly so, or so with a number of connections behind: `text` is `text-1`, `text-8` and `text-64`.
fn is_called(name: &str, wanted: &str) -> bool {
    let number = name.strip_prefix(wanted).and_then(|rest| rest.strip_prefix('-'));
    name == wanted || number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn parse_outsider(text: &str) -> Result<Outsider, String> {
    let (name, rest) = text.split_once('=').ok_or("expected NAME=HOST:PORT")?;
    let (address, pid) = match rest.split_once('@') {
        Some((address, pid)) => (address, Some(pid.parse().map_err(|_| format!("{pid} is no process id"))?)),
        None => (rest, None),
    };
    let address = address.parse().map_err(|_| format!("{address} is no ADDRESS:PORT"))?;
    Ok(Outsider { name: name.to_owned(), address, pid })
}

fn parse_build(text: &str) -> Result<Build, String> {
    let (name, path) = text.split_once('=').unwrap_or(("tollgate", text));
    let program = std::path::absolute(path).map_err(|error| error.to_string())?;
    if !program.is_file() {
        return Err(format!("{path} is no file"));
    }
    Ok(Build { name: name.to_owned(), program })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chooses_within_each_kind() {
        let workloads: Vec<String> = ["text-1", "text-8", "stream"].map(String::from).to_vec();
        let contestants: Vec<String> = ["direct", "relay", "relay-per-core"].map(String::from).to_vec();
        let check = |only: &[&str], workload: &str, contestant: &str, expected: (bool, bool)| {
            let mut options = Options::parse_from(["bench"]);
            options.only = only.iter().map(|name| (*name).to_owned()).collect();
            let seen = (options.wants(workload, &workloads), options.wants(contestant, &contestants));
            assert_eq!(seen, expected, "{only:?} {workload} {contestant}");
        };
        check(&[], "text-1", "relay", (true, true));
        check(&["text"], "text-8", "relay", (true, true));
        check(&["text"], "stream", "relay", (false, true));
        check(&["text-8", "relay"], "text-1", "direct", (false, false));
        check(&["text-8", "relay"], "text-8", "relay", (true, true));
        check(&["relay"], "stream", "relay-per-core", (true, false));
    }

    #[test]
    fn unknown_names_are_refused() {
        let known: Vec<String> = ["text-1", "relay"].map(String::from).to_vec();
        let mut options = Options::parse_from(["bench", "--only", "text", "relay"]);
        assert!(options.refuse_unknown_names(&known).is_ok());
        options.only.push("tolgate".to_owned());
        assert!(options.refuse_unknown_names(&known).unwrap_err().to_string().contains("tolgate"));
    }

    #[test]
    fn outsiders_are_read() {
        let outsider = parse_outsider("nginx=127.0.0.1:7000@42").unwrap();
        assert_eq!(
            outsider,
            Outsider { name: "nginx".into(), address: "127.0.0.1:7000".parse().unwrap(), pid: Some(42) }
        );
        assert_eq!(parse_outsider("nginx=127.0.0.1:7000").unwrap().pid, None);
        for bad in ["nginx", "nginx=here", "nginx=127.0.0.1:7000@me"] {
            assert!(parse_outsider(bad).is_err(), "{bad}");
        }
    }
}
