//! The built binary as a child process.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sandbox::Server;

/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running `tollgate run`; ended when dropped.
#[derive(Debug)]
pub(crate) struct Tollgate {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) http: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
    /// Removed with it.
    _folder: tempfile::TempDir,
}

/// The `upstream:` line for a server of the sandbox.
pub(crate) fn upstream(server: &Server) -> String {
    format!("upstream: {{ address: \"{}\" }}\n", server.address())
}

impl Tollgate {
    /// Before `server`, with the defaults.
    pub(crate) fn before(server: &Server) -> Tollgate {
        Tollgate::start(&upstream(server))
    }

    /// With this configuration. Without a `listen` of its own it gets a port from the system, and so does `admin.http`.
    pub(crate) fn start(yaml: &str) -> Tollgate {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Tollgate::start_in(folder, yaml)
    }

    /// As [`Tollgate::start`], in a folder that may hold files which the configuration names.
    pub(crate) fn start_in(folder: tempfile::TempDir, yaml: &str) -> Tollgate {
        Tollgate::start_under(folder, &[], yaml)
    }

    /// As [`Tollgate::start_in`], by a program that gets the command as its last arguments and becomes it.
    pub(crate) fn start_under(folder: tempfile::TempDir, program: &[&str], yaml: &str) -> Tollgate {
        let mut text = yaml.to_owned();
        for (key, line) in [
            ("listen:", "listen: 127.0.0.1:0\n"),
            ("admin:", "admin: { http: 127.0.0.1:0 }\n"),
            ("drain:", "drain: { wait: 0s, deadline: 5s }\n"),
            ("state_dir:", "state_dir: ./state\n"),
        ] {
            if !text.lines().any(|existing| existing.starts_with(key)) {
                text.push_str(line);
            }
        }
        // In front, so that a test can change what is behind.
        let text = format!("log: {{ format: json, level: debug }}\n{text}");
        let path = folder.path().join("proxy.yaml");
        fs::write(&path, &text).expect("writing proxy.yaml");
        let words = [program, &[env!("CARGO_BIN_EXE_tollgate"), "run", "--config"]].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .arg(&path)
            .env("TOLLGATE_LOG", "info,relay=debug,tollgate=debug")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starting the built binary");
        let stderr = child.stderr.take().expect("its log");
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = follow(stderr, Arc::clone(&log));
        let [address, http] = [("listening", "listen"), ("health and metrics", "http")].map(|(message, field)| {
            let from = Arc::clone(&log);
            wait_for_field(&lines, &from, message, field)
        });
        let address = address.parse().unwrap_or_else(|_| SocketAddr::from(([127, 0, 0, 1], 0)));
        let http = http.parse().expect("the address of admin.http");
        Tollgate { child, address, http, log, _folder: folder }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("the log").join("\n")
    }

    /// A counter of `/metrics`, by its name without prefix and suffix.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        let line = format!("tollgate_{name}_total ");
        let (_, metrics) = self.get("/metrics");
        let value = metrics.lines().find_map(|found| found.strip_prefix(&line));
        value.unwrap_or_else(|| panic!("no counter {name}")).parse().expect("a number")
    }

    /// The same with labels, as they are printed.
    pub(crate) fn counter_of(&self, name: &str, labels: &str) -> u64 {
        let line = format!("tollgate_{name}_total{{{labels}}} ");
        let (_, metrics) = self.get("/metrics");
        let value = metrics.lines().find_map(|found| found.strip_prefix(&line));
        value.unwrap_or_else(|| panic!("no counter {name} of {labels}")).parse().expect("a number")
    }

    /// Connections of clients, logged in or on their way.
    pub(crate) fn sessions(&self) -> u64 {
        let (_, metrics) = self.get("/metrics");
        let value = metrics.lines().find_map(|found| found.strip_prefix("tollgate_sessions "));
        value.expect("the gauge").parse().expect("a number")
    }

    /// Processor time used so far, in ticks of 10 ms.
    pub(crate) fn processor_ticks(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("its status");
        let fields: Vec<_> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        [11, 12].map(|at: usize| fields[at].parse::<u64>().expect("ticks")).iter().sum()
    }

    /// Waits until a counter has this value.
    pub(crate) fn await_counter(&self, name: &str, value: u64) {
        wait_until(&format!("{name} = {value}"), || self.counter(name) == value);
    }

    /// Status and body of an HTTP GET.
    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.http).expect("the HTTP port");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("asking");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"), body.to_owned())
    }

    /// Status and body of an HTTP POST with JSON.
    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, String) {
        self.try_post(path, body).expect("an answer")
    }

    /// `None`: it did not answer.
    pub(crate) fn try_post(&self, path: &str, body: &str) -> Option<(u16, String)> {
        self.request("POST", path, body)
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.http).ok()?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.http,
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// The configuration file.
    pub(crate) fn config(&self) -> std::path::PathBuf {
        self._folder.path().join("proxy.yaml")
    }

    /// Writes the configuration anew.
    pub(crate) fn rewrite(&self, change: impl FnOnce(&str) -> String) {
        let text = fs::read_to_string(self.config()).expect("the file");
        fs::write(self.config(), change(&text)).expect("writing the file");
    }

    /// The policy that is in force.
    pub(crate) fn generation(&self) -> u64 {
        let (_, body) = self.get("/rules");
        let answer: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        answer["generation"].as_u64().expect("a generation")
    }

    pub(crate) fn await_generation(&self, generation: u64) {
        wait_until(&format!("generation {generation}"), || self.generation() >= generation);
    }

    /// How the gates and all that is measured stand.
    pub(crate) fn gates(&self) -> serde_json::Value {
        let (status, body) = self.get("/gates");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }

    pub(crate) fn gate(&self, name: &str) -> serde_json::Value {
        let gates = self.gates();
        let found = gates["gates"].as_array().and_then(|gates| gates.iter().find(|gate| gate["gate"] == name));
        found.unwrap_or_else(|| panic!("no gate {name} in {gates}")).clone()
    }

    /// Waits until a gate is `open`, `limiting`, `closed`, `stale`, `waking` or `given_up`.
    pub(crate) fn await_gate(&self, name: &str, state: &str) {
        wait_until(&format!("the gate {name} to be {state}"), || self.gate(name)["state"] == state);
    }

    /// Units that are held now.
    pub(crate) fn waiting(&self) -> u64 {
        let answer: serde_json::Value = serde_json::from_str(&self.clients()).expect("JSON");
        answer["waiting"].as_u64().expect("a number")
    }

    /// Who asked what and got what.
    pub(crate) fn clients(&self) -> String {
        let (status, body) = self.get("/clients");
        assert_eq!(status, 200, "{body}");
        body
    }

    /// A number that is counted for every client, such as `held`, of all clients together.
    pub(crate) fn counted(&self, what: &str) -> u64 {
        let answer: serde_json::Value = serde_json::from_str(&self.clients()).expect("JSON");
        let clients = answer["clients"].as_array().expect("clients");
        clients.iter().map(|client| client[what].as_u64().expect("a number")).sum()
    }

    /// Adds a rule at run time; it is in force when this returns.
    pub(crate) fn add_rule(&self, rule: &serde_json::Value) {
        let (status, body) = self.post("/rules", &rule.to_string());
        assert_eq!(status, 201, "{body}");
    }

    /// Ends a rule of the run time; it is out of force when this returns.
    pub(crate) fn end_rule(&self, id: &str) {
        let (status, body) = self.request("DELETE", &format!("/rules/{id}"), "").expect("an answer");
        assert_eq!(status, 200, "{body}");
    }

    /// Resident memory, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status;
            }
            assert!(begin.elapsed() < PATIENCE, "the proxy does not end; its log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Tollgate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- the proxy's log ---\n{}", self.log());
        }
    }
}

/// Waits for something that must come about; says what did not.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn follow(stderr: impl Read + Send + 'static, log: Arc<Mutex<Vec<String>>>) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            log.lock().expect("the log").push(line.clone());
            let _ = sender.send(line);
        }
    });
    lines
}

/// The two lines come in either order: what was passed over is looked through again.
fn wait_for_field(lines: &Receiver<String>, log: &Mutex<Vec<String>>, message: &str, field: &str) -> String {
    let find = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).ok()?;
        (event["message"] == message).then(|| event[field].as_str().unwrap_or_default().to_owned())
    };
    let begin = Instant::now();
    loop {
        if let Some(found) = log.lock().expect("the log").iter().find_map(|line| find(line)) {
            return found;
        }
        if lines.recv_timeout(PATIENCE).is_err() || begin.elapsed() > PATIENCE {
            panic!("the proxy did not start:\n{}", log.lock().expect("the log").join("\n"));
        }
    }
}
