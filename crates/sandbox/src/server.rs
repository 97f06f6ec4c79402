//! One running server.

use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::source::{self, Programs};
use crate::watcher::Watcher;
use crate::{Flavor, Login, Options, options, process, template};

/// A start that takes longer has failed; a loaded machine may need most of it.
const START_DEADLINE: Duration = Duration::from_secs(120);
/// A server that was asked to stop and has not by then is killed.
const STOP_DEADLINE: Duration = Duration::from_secs(30);
/// Unix limits a socket's path to about 108 bytes.
const SOCKET_PATH_LIMIT: usize = 100;
/// Between finding a free port and the server's taking it, somebody else may.
const PORT_ATTEMPTS: u32 = 5;

/// A MySQL or MariaDB server with its own data folder and port. Dropping it ends the server and removes the folder;
/// so does the end of this process, however it ends.
#[derive(Debug)]
pub struct Server {
    programs: Arc<Programs>,
    options: Options,
    folder: PathBuf,
    socket: PathBuf,
    data: PathBuf,
    ca: PathBuf,
    port: u16,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    watcher: Watcher,
    /// The watcher's child: the server, or what attends it.
    child: u32,
    /// Kept for the next start.
    more_arguments: Vec<String>,
}

impl Server {
    /// Gets the programs if need be, and starts a server of its own with fresh data. It answers when this returns.
    pub fn start(options: Options) -> Result<Self> {
        let programs = source::find(options.flavor)?;
        let flavor = options.flavor;
        Self::with_programs(programs, options).with_context(|| format!("starting {flavor}"))
    }

    fn with_programs(programs: Arc<Programs>, options: Options) -> Result<Self> {
        let folder = new_folder()?;
        // From here on the folder goes away with us.
        let watcher = match Watcher::spawn(&folder) {
            Ok(watcher) => watcher,
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                return Err(error);
            }
        };
        let data = folder.join("data");
        template::copy_to(&programs, &data)?;
        fs::create_dir(folder.join("tmp"))?;
        for (name, script) in programs.scripts(&folder) {
            fs::write(folder.join(name), script)?;
        }
        let state = State { watcher, child: 0, more_arguments: Vec::new() };
        let mut server = Self {
            programs,
            options,
            socket: folder.join("mysql.sock"),
            ca: data.join("ca.pem"),
            data,
            folder,
            port: 0,
            state: Mutex::new(state),
        };
        for attempt in 1.. {
            server.port = free_port()?;
            match server.launch(&mut server.state()) {
                Ok(()) => break,
                Err(error) if attempt < PORT_ATTEMPTS && is_port_taken(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(server)
    }

    pub fn flavor(&self) -> Flavor {
        self.options.flavor
    }

    /// As the server's program says it: `9.7.4`, `10.11.18-MariaDB-0+deb12u1`.
    pub fn version(&self) -> &str {
        &self.programs.version
    }

    /// Where its programs are from, for people.
    pub fn origin(&self) -> &str {
        &self.programs.origin
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    /// The authority that signed the server's certificate. In [`Self::data_dir`] there are also `server-cert.pem`,
    /// `client-cert.pem` and their keys, and MySQL's `public_key.pem`.
    pub fn ca_pem(&self) -> &Path {
        &self.ca
    }

    /// What the server has logged so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The server's process.
    pub fn pid(&self) -> Result<u32> {
        let child = self.state().child;
        self.programs.server_pid(&self.folder, child)
    }

    pub fn is_running(&self) -> bool {
        process::is_alive(self.state().child)
    }

    /// Runs statements as root, through the socket and the client program. Gives the rows, a line each with tabs between
    /// the columns and no head, or the client's error message.
    pub fn root_sql(&self, sql: &str) -> Result<String> {
        let mut client = self.programs.client_beside(&self.folder)?;
        client
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names", "--default-character-set=utf8mb4"])
            .arg(format!("--socket={}", self.socket.display()));
        run_client(&mut client, sql)
    }

    /// A client program (`mysql`, `mysqldump`, …) set to this server's address and the login, with no configuration files.
    pub fn client(&self, name: &str, login: Login) -> Result<Command> {
        self.client_to(name, login, self.address())
    }

    /// The same through somebody else's address, such as a proxy's.
    pub fn client_to(&self, name: &str, login: Login, address: SocketAddr) -> Result<Command> {
        let mut client = self.programs.client(name)?;
        client
            .arg("--no-defaults")
            .args(["--protocol=tcp", &format!("--host={}", address.ip()), &format!("--port={}", address.port())])
            .arg(format!("--user={}", login.user))
            // Not an argument: the client warns about those.
            .env("MYSQL_PWD", login.password);
        Ok(client)
    }

    /// Ends it as a crash would (SIGKILL). The data stay.
    pub fn kill(&self) -> Result<()> {
        self.state().watcher.kill()
    }

    /// Shuts it down in order. The data stay.
    pub fn stop(&self) -> Result<()> {
        let state = &mut *self.state();
        if !process::is_alive(state.child) {
            return state.watcher.kill();
        }
        state.watcher.terminate()?;
        let deadline = Instant::now() + STOP_DEADLINE;
        while process::is_alive(state.child) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        // Reaps it, or ends it if it would not.
        state.watcher.kill()
    }

    /// Stops it if it runs, and starts it again with the same data and port.
    pub fn restart(&self) -> Result<()> {
        self.stop()?;
        self.launch(&mut self.state())
    }

    /// The same, with these arguments from now on beside those of its [`Options`].
    pub fn restart_with(&self, arguments: &[&str]) -> Result<()> {
        self.stop()?;
        let state = &mut *self.state();
        state.more_arguments = arguments.iter().map(ToString::to_string).collect();
        self.launch(state)
    }

    /// The host by which a server of the same source reaches this one.
    pub(crate) fn host_for_peers(&self) -> Result<String> {
        self.programs.host_for_peers(&self.folder)
    }

    /// Starts the process and waits until it greets.
    fn launch(&self, state: &mut State) -> Result<()> {
        let _ = fs::remove_file(&self.socket);
        let log_before = fs::metadata(self.folder.join("log")).map_or(0, |metadata| metadata.len());
        let mut command = self.programs.server(&self.folder, Some(self.port));
        command
            .envs(self.options.environment.iter().map(|(name, value)| (name, value)))
            .args(options::common_arguments(&self.options, &self.folder, self.port))
            .args(&self.options.arguments)
            .args(&state.more_arguments);
        state.child = state.watcher.start(&self.folder, &command)?;
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if greets(&self.socket) {
                return Ok(());
            }
            let ended = !process::is_alive(state.child);
            if ended || Instant::now() > deadline {
                let what = if ended { "it ended".to_owned() } else { format!("no greeting within {START_DEADLINE:?}") };
                state.watcher.kill()?;
                bail!("{what}; its log says:\n{}", self.log_since(log_before));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn log_since(&self, start: u64) -> String {
        let Ok(mut file) = File::open(self.folder.join("log")) else { return "nothing".into() };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        process::tail(&mut file, length.saturating_sub(start).min(4000))
    }

    /// A panic while it was held leaves nothing half done that a later use could not see.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Has the programs and the data folder's template at hand, so that starts are quick.
pub(crate) fn prepare(flavor: Flavor) -> Result<()> {
    let programs = source::find(flavor)?;
    template::prepare(&programs).map(drop).with_context(|| format!("preparing {flavor}"))
}

/// A folder with a short path, for the socket in it.
fn new_folder() -> Result<PathBuf> {
    let mut last = None;
    for parent in [env::temp_dir(), PathBuf::from("/tmp")] {
        let folder = tempfile::Builder::new().prefix("tollgate-").tempdir_in(&parent);
        match folder {
            Ok(folder) => {
                let path = folder.path().canonicalize()?;
                if path.join("mysql.sock").as_os_str().len() < SOCKET_PATH_LIMIT {
                    // The watcher removes it from now on.
                    let _ = folder.keep();
                    return Ok(path);
                }
            }
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(error).context("no temporary folder can be made; set TMPDIR to one that can be written"),
        None => bail!("the temporary folder's path is too long for a socket; set TMPDIR to a shorter one"),
    }
}

/// A port that nobody listens on just now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("asking the system for a port")?;
    Ok(listener.local_addr()?.port())
}

fn is_port_taken(error: &anyhow::Error) -> bool {
    let text = format!("{error:#}");
    ["Address already in use", "Do you already have another", "port is already allocated"]
        .iter()
        .any(|words| text.contains(words))
}

/// Whether a server sends its greeting, protocol version 10. The socket is there before the server is ready to use it.
fn greets(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let mut start = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(5))).is_ok()
        && stream.read_exact(&mut start).is_ok()
        && start.last() == Some(&10)
}

fn run_client(client: &mut Command, sql: &str) -> Result<String> {
    let mut child = client
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("running the client program")?;
    let mut input = child.stdin.take().context("the client has no standard input")?;
    let sql = sql.to_owned();
    // Beside the reading, since the client may answer before it has read everything.
    let writer = thread::spawn(move || input.write_all(sql.as_bytes()));
    let output = child.wait_with_output()?;
    let written = writer.join();
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    ensure!(matches!(written, Ok(Ok(()))), "the client did not read all statements");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
