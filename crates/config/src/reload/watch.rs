//! When to read the file: once it has changed and then been still.

use std::time::{Duration, Instant};

use super::Look;

/// Asking the file system is cheap, and sees what notifications miss: renames into place, swapped links, network and
/// mounted file systems.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An editor writes in pieces; nobody waits a quarter of a second between two of them.
pub const STILL_FOR: Duration = Duration::from_millis(250);

/// Fed with what the file looks like and the time.
#[derive(Debug, Clone)]
pub struct Watch {
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// Read as it looks. Follows: `Changing`.
    Settled(Look),
    /// It has looked like this since then. Follows: `Changing` anew, or `Settled`.
    Changing { look: Look, since: Instant },
}

/// What to do after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Wait,
    Read,
}

impl Watch {
    /// The file has just been read, or could not be, and looks like this.
    pub fn new(look: Look) -> Self {
        Watch { state: State::Settled(look) }
    }

    pub fn look(&mut self, seen: Look, now: Instant) -> Next {
        match &self.state {
            State::Settled(look) if *look == seen => Next::Wait,
            State::Changing { look, since } if *look == seen => {
                if now.saturating_duration_since(*since) < STILL_FOR {
                    return Next::Wait;
                }
                self.state = State::Settled(seen);
                Next::Read
            }
            State::Settled(_) | State::Changing { .. } => {
                self.state = State::Changing { look: seen, since: now };
                Next::Wait
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stamp;
    use super::*;

    fn file(content: u64) -> Look {
        Look::File(Stamp { device: 1, inode: 2, modified: (3, 4), changed: (3, 4), size: 5, content })
    }

    /// Looks at these times, in milliseconds, and says at which of them the file is read.
    fn read_at(looks: &[(u64, Look)]) -> Vec<u64> {
        let start = Instant::now();
        let mut watch = Watch::new(file(0));
        let mut look = |(at, look): &(u64, Look)| {
            let next = watch.look(look.clone(), start + Duration::from_millis(*at));
            (next == Next::Read).then_some(*at)
        };
        looks.iter().filter_map(&mut look).collect()
    }

    #[test]
    fn a_file_is_read_once_it_is_still() {
        assert!(read_at(&[(0, file(0)), (1000, file(0))]).is_empty());
        assert!(read_at(&[(0, file(1)), (100, file(1)), (249, file(1))]).is_empty());
        assert_eq!(read_at(&[(0, file(1)), (100, file(1)), (250, file(1)), (600, file(1))]), [250]);
    }

    #[test]
    fn what_still_changes_is_waited_for() {
        let growing: Vec<(u64, Look)> = (0..50).map(|step| (step * 200, file(step))).collect();
        assert!(read_at(&growing).is_empty());
        assert_eq!(read_at(&[(0, file(1)), (200, file(2)), (400, file(2)), (450, file(2))]), [450]);
    }

    #[test]
    fn a_change_and_back_is_read_too() {
        // It may have been applied in between by a request, so that the old content is the new one.
        assert_eq!(read_at(&[(0, file(1)), (100, file(0)), (350, file(0)), (700, file(0))]), [350]);
    }

    #[test]
    fn a_file_that_goes_and_comes_is_read_each_time() {
        let gone = || Look::Missing;
        assert_eq!(read_at(&[(0, gone()), (300, gone()), (400, gone()), (500, file(0)), (800, file(0))]), [300, 800]);
        let unreadable = || Look::Unreadable(std::io::ErrorKind::PermissionDenied);
        assert_eq!(read_at(&[(0, gone()), (200, unreadable()), (450, unreadable())]), [450]);
    }

    #[test]
    fn every_part_of_a_stamp_counts() {
        let Look::File(stamp) = file(0) else { return };
        for other in [
            Stamp { device: 9, ..stamp.clone() },
            Stamp { inode: 9, ..stamp.clone() },
            Stamp { modified: (3, 9), ..stamp.clone() },
            Stamp { changed: (3, 9), ..stamp.clone() },
            Stamp { size: 9, ..stamp.clone() },
            Stamp { content: 9, ..stamp.clone() },
        ] {
            assert_eq!(read_at(&[(0, Look::File(other.clone())), (250, Look::File(other))]), [250]);
        }
    }

    #[test]
    fn a_clock_that_stands_still_reads_nothing() {
        assert!(read_at(&[(5, file(1)), (5, file(1)), (5, file(1))]).is_empty());
    }
}
