//! A deadline for calls that have none.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Threads that may hang at one time.
const MOST_HANGING: usize = 8;

/// The share of its deadline that a call gets while another one hangs, so that ten files on one hung mount do not cost
/// ten deadlines.
const SHORTENED: u32 = 8;

type Job = Box<dyn FnOnce() + Send>;

/// Runs file system calls on another thread, for a caller that must not hang.
///
/// A call that misses its deadline keeps its thread until the file system answers. Until then every further call for the
/// same path fails at once, so repeated attempts do not pile up threads. For one caller at a time: of two simultaneous
/// calls for one path the second fails.
#[derive(Debug, Default)]
pub struct Helper {
    /// An idle thread, kept for the next call.
    idle: Mutex<Option<Sender<Job>>>,
    /// Paths of the calls that have not returned.
    running: Arc<Mutex<HashSet<PathBuf>>>,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The call began and may still take effect.
    #[error("the file system does not answer; is it a hung mount?")]
    Late,
    /// An earlier call has not returned, and this one did not begin.
    #[error("the file system does not answer; is it a hung mount?")]
    Hanging,
    #[error("no thread for a file system call: {0}")]
    NoThread(io::Error),
    #[error("a file system call panicked")]
    Panicked,
}

impl From<HelperError> for io::Error {
    fn from(error: HelperError) -> io::Error {
        let kind = match &error {
            HelperError::Late | HelperError::Hanging => io::ErrorKind::TimedOut,
            HelperError::NoThread(_) | HelperError::Panicked => io::ErrorKind::Other,
        };
        io::Error::new(kind, error.to_string())
    }
}

impl Helper {
    /// Runs `work`, which uses the file at `path`, and waits at most until the deadline.
    pub fn run<T: Send + 'static>(
        &self,
        path: &Path,
        deadline: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HelperError> {
        let (running, others) = self.register(path)?;
        let (done, result) = sync_channel(1);
        let worker = self.submit(Box::new(move || {
            let made = work();
            // Before the result is told, so that the next call finds the path free.
            drop(running);
            let _ = done.send(made);
        }))?;
        let wait = if others { deadline / SHORTENED } else { deadline };
        match result.recv_timeout(wait) {
            Ok(made) => {
                *lock(&self.idle) = Some(worker);
                Ok(made)
            }
            Err(RecvTimeoutError::Timeout) => Err(HelperError::Late),
            Err(RecvTimeoutError::Disconnected) => Err(HelperError::Panicked),
        }
    }

    /// Starts `work` and does not wait for it.
    pub fn start(&self, path: &Path, work: impl FnOnce() + Send + 'static) -> Result<(), HelperError> {
        let (running, _) = self.register(path)?;
        self.submit(Box::new(move || {
            work();
            drop(running);
        }))?;
        Ok(())
    }

    /// Also says whether calls for other paths hang.
    fn register(&self, path: &Path) -> Result<(Running, bool), HelperError> {
        let mut running = lock(&self.running);
        let others = running.len();
        if others >= MOST_HANGING || !running.insert(path.to_owned()) {
            return Err(HelperError::Hanging);
        }
        Ok((Running { path: path.to_owned(), all: Arc::clone(&self.running) }, others > 0))
    }

    /// Gives the thread that runs the job.
    fn submit(&self, job: Job) -> Result<Sender<Job>, HelperError> {
        // Dropped with an error; the guard in the job then releases its path.
        let job = match lock(&self.idle).take() {
            Some(worker) => match worker.send(job) {
                Ok(()) => return Ok(worker),
                Err(unsent) => unsent.0,
            },
            None => job,
        };
        let worker = spawn().map_err(HelperError::NoThread)?;
        worker.send(job).map_err(|_| HelperError::Panicked)?;
        Ok(worker)
    }
}

/// A thread that runs jobs until its sender is gone.
fn spawn() -> io::Result<Sender<Job>> {
    let (worker, jobs) = channel::<Job>();
    let run = move || jobs.into_iter().for_each(|job| job());
    thread::Builder::new().name("files".to_owned()).spawn(run)?;
    Ok(worker)
}

/// Marks a path as in use until dropped.
struct Running {
    path: PathBuf,
    all: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.path);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    /// No call of a test takes longer unless it hangs.
    const LONG: Duration = Duration::from_secs(60);

    /// A call that hangs until the sender is dropped; the second channel then closes.
    fn hang(helper: &Helper, path: &str) -> (Sender<()>, Receiver<()>) {
        let (release, released) = channel::<()>();
        let (ended, end) = channel::<()>();
        let work = move || {
            let _ = released.recv();
            drop(ended);
        };
        let error = helper.run(Path::new(path), Duration::ZERO, work).expect_err("it hangs");
        assert!(matches!(error, HelperError::Late), "{error}");
        (release, end)
    }

    #[test]
    fn hanging_call_fails_alone_and_recovers() {
        let helper = Helper::default();
        assert_eq!(helper.run(Path::new("a"), LONG, || 1).expect("it returns"), 1);
        let (release, end) = hang(&helper, "a");
        let error = helper.run(Path::new("a"), LONG, || 2).expect_err("an earlier one hangs");
        assert!(matches!(error, HelperError::Hanging), "{error}");
        assert_eq!(helper.run(Path::new("b"), LONG, || 3).expect("another path"), 3);
        drop(release);
        let _ = end.recv();
        let again = || helper.run(Path::new("a"), LONG, || 4);
        let made = std::iter::repeat_with(again).inspect(|_| thread::yield_now()).find_map(Result::ok);
        assert_eq!(made, Some(4));
    }

    #[test]
    fn hanging_threads_are_bounded() {
        let helper = Helper::default();
        let paths: Vec<String> = (0..MOST_HANGING).map(|number| number.to_string()).collect();
        let _hanging: Vec<_> = paths.iter().map(|path| hang(&helper, path)).collect();
        let error = helper.run(Path::new("one more"), LONG, || ()).expect_err("too many hang");
        assert!(matches!(error, HelperError::Hanging), "{error}");
        assert!(helper.start(Path::new("one more"), || ()).is_err());
    }

    #[test]
    fn panicking_call_is_an_error_and_frees_its_path() {
        let helper = Helper::default();
        let error = helper.run(Path::new("a"), LONG, || panic!("asked for")).expect_err("it panicked");
        assert!(matches!(error, HelperError::Panicked), "{error}");
        let again = || helper.run(Path::new("a"), LONG, || 1);
        assert_eq!(std::iter::repeat_with(again).find_map(Result::ok), Some(1));
    }
}
