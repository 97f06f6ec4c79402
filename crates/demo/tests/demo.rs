//! The demo as people run it: what it prints, its exit code, and that nothing of it is left.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a busy machine; it is not waited for where all is well.
const DEADLINE: Duration = Duration::from_secs(60);

struct Demo {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    output: String,
}

impl Demo {
    fn start(arguments: &[&str]) -> Demo {
        let mut child = Command::new(env!("CARGO_BIN_EXE_demo"))
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starting the demo");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Demo { child, lines, output: String::new() }
    }

    /// Reads on to a line that holds this.
    fn read_to(&mut self, words: &str) {
        while !self.output.lines().last().is_some_and(|line| line.contains(words)) {
            let line = self.lines.next().unwrap_or_else(|| panic!("no `{words}` in:\n{}", self.output));
            self.output.push_str(&line.expect("a line"));
            self.output.push('\n');
        }
    }

    /// The proxy's process, as the box tells it.
    fn proxy_pid(&self) -> u32 {
        let (_, rest) = self.output.split_once("pid ").expect("the proxy's pid in the box");
        rest.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a pid")
    }

    /// The ports in the box: proxy, metrics, rules, primary, replica.
    fn ports(&self) -> Vec<u16> {
        let (the_box, _) = self.output.split_once('└').expect("the box");
        let addresses = the_box.split("127.0.0.1:").skip(1);
        addresses.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).collect()
    }

    fn wait(&mut self) -> ExitStatus {
        for line in self.lines.by_ref() {
            self.output.push_str(&line.expect("a line"));
            self.output.push('\n');
        }
        self.child.wait().expect("its status")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the demo's output ---\n{}", self.output);
        }
    }
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().expect("kill").success());
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Neither the proxy nor a server.
fn assert_nothing_is_left(demo: &Demo) {
    let (pid, ports) = (demo.proxy_pid(), demo.ports());
    assert_eq!(ports.len(), 5, "proxy, metrics, rules, primary and replica: {ports:?}");
    let begin = Instant::now();
    let is_open = |port: &u16| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok();
    while is_alive(pid) || ports.iter().any(is_open) {
        assert!(begin.elapsed() < DEADLINE, "still there: proxy {pid} or one of {ports:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The second column of a client's line in the last table.
fn queries(demo: &Demo, client: &str) -> u64 {
    let line = demo.output.lines().rfind(|line| line.starts_with(client)).expect("the client's line");
    line.split_whitespace().nth(1).and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn it_ends_by_itself_after_the_seconds_asked_for() {
    let mut demo = Demo::start(&["--seconds", "10"]);
    let status = demo.wait();
    assert!(status.success(), "{status}");
    for words in [
        "mysql -h 127.0.0.1 -P ",
        "user app, password app-pw",
        "metrics  http://127.0.0.1:",
        "primary  127.0.0.1:",
        "replica  127.0.0.1:",
        // Four connections of web, one of billing and one of report, twelve of the job.
        "| sessions 18 | replica: ",
        "| gate: warn, threshold 1.0s, lag ",
        "| gate: enforce, threshold 1.0s, lag ",
        "\ngate in warn  ",
        "\ngate in enforce  ",
        "| held report:etl ",
        "as the rules say.",
        "and as many on the primary and on the replica",
        "their folders are removed",
    ] {
        assert!(demo.output.contains(words), "no `{words}`");
    }
    assert!(queries(&demo, "web") > 0 && queries(&demo, "billing") > queries(&demo, "report"));
    // The job waits at the gate when that is enforced, and not while it warns.
    let held: Vec<&str> = demo.output.lines().filter(|line| line.contains("held job:etl ")).collect();
    assert!(!held.is_empty() && !held.iter().any(|line| line.contains("gate: warn")), "{held:?}");
    assert!(!demo.output.contains('\u{1b}'), "escape sequences in a pipe");
    assert_nothing_is_left(&demo);
}

#[test]
fn ctrl_c_ends_it_well() {
    let mut demo = Demo::start(&[]);
    demo.read_to("1s  web ");
    signal("-INT", demo.child.id());
    let status = demo.wait();
    assert!(status.success(), "{status}");
    assert!(demo.output.contains("and as many on the primary and on the replica"));
    assert_nothing_is_left(&demo);
}

#[test]
fn a_proxy_that_dies_is_a_failure() {
    let mut demo = Demo::start(&["--seconds", "600"]);
    demo.read_to("1s  web ");
    signal("-KILL", demo.proxy_pid());
    let status = demo.wait();
    assert_eq!(status.code(), Some(1));
    assert!(demo.output.contains("FAILED: the proxy ended (signal: 9"));
    assert_nothing_is_left(&demo);
}

#[test]
fn a_killed_demo_leaves_nothing_behind() {
    let mut demo = Demo::start(&[]);
    demo.read_to("1s  web ");
    signal("-KILL", demo.child.id());
    demo.wait();
    assert_nothing_is_left(&demo);
}
