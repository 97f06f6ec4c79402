//! The bytes that were read from one end and not yet written to the other.
//!
//! A session that waits holds no memory here: the storage comes from a pool of its thread when there is something to
//! read, and goes back when all of it has been written. So an idle connection costs its sockets and its task, and the
//! data path allocates nothing.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use crate::transport::Transport;

/// The size of pooled storage: one read, and so one write, of a large result. Measured in `docs/decisions/`.
pub(crate) const CHUNK: usize = 32 * 1024;

/// Chunks that a thread keeps for its next reads.
const POOLED: usize = 64;

thread_local! {
    static POOL: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A queue of bytes: filled at the back by reads, emptied at the front by writes.
#[derive(Debug, Default)]
pub struct Buffer {
    /// All of it initialised; empty when no storage is held.
    storage: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    pub fn new() -> Buffer {
        Buffer::default()
    }

    #[inline]
    pub fn unread(&self) -> &[u8] {
        &self.storage[self.start..self.end]
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether a read has room without growing beyond one chunk.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.len() < CHUNK
    }

    #[inline]
    pub fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.len());
        self.start = (self.start + count).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Takes the unread bytes out, for a layer that reads on its own from here.
    pub fn take(&mut self) -> Vec<u8> {
        let bytes = self.unread().to_vec();
        self.consume(bytes.len());
        self.release();
        bytes
    }

    /// Makes room for `total` unread bytes.
    pub fn reserve(&mut self, total: usize) {
        if self.storage.len() - self.start >= total {
            return;
        }
        if self.storage.len() < total {
            let mut larger = vec![0; total];
            larger[..self.len()].copy_from_slice(self.unread());
            self.end -= self.start;
            self.start = 0;
            give_back(std::mem::replace(&mut self.storage, larger));
        } else {
            self.compact();
        }
    }

    /// One read from `transport`; `Ok(0)` is the end of the stream. Cancel safe: what was read is in the buffer.
    #[inline]
    pub fn poll_fill(&mut self, context: &mut Context<'_>, transport: &mut Transport) -> Poll<io::Result<usize>> {
        if self.storage.is_empty() {
            self.storage = POOL.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; CHUNK]);
        } else if self.end == self.storage.len() {
            if self.start == 0 {
                let larger = self.storage.len() * 2;
                self.reserve(larger);
            } else {
                self.compact();
            }
        }
        let mut free = ReadBuf::new(&mut self.storage[self.end..]);
        let read = Pin::new(transport).poll_read(context, &mut free);
        let count = free.filled().len();
        match read {
            Poll::Pending => {
                if self.is_empty() {
                    self.release();
                }
                Poll::Pending
            }
            Poll::Ready(result) => {
                result?;
                self.end += count;
                Poll::Ready(Ok(count))
            }
        }
    }

    /// One read; see [`Buffer::poll_fill`]. Cancel safe.
    pub async fn fill(&mut self, transport: &mut Transport) -> io::Result<usize> {
        std::future::poll_fn(|context| {
            let count = ready!(self.poll_fill(context, transport))?;
            Poll::Ready(Ok(count))
        })
        .await
    }

    fn compact(&mut self) {
        self.storage.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
    }

    fn release(&mut self) {
        (self.start, self.end) = (0, 0);
        give_back(std::mem::take(&mut self.storage));
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.storage));
    }
}

/// Storage that grew for one large packet is not kept.
fn give_back(storage: Vec<u8>) {
    if storage.len() == CHUNK {
        // A thread that is ending has no pool any more; the storage is then just freed.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < POOLED {
                pool.push(storage);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[tokio::test]
    async fn keeps_the_order_of_bytes_over_growth_and_compaction() {
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let mut transport = Transport::Boxed(Box::new(near));
        let sent: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        far.write_all(&sent).await.unwrap();
        drop(far);

        let (mut buffer, mut seen) = (Buffer::new(), Vec::new());
        loop {
            buffer.reserve(100_000);
            let count = buffer.fill(&mut transport).await.unwrap();
            let take = if count == 0 { buffer.len() } else { buffer.len() / 3 };
            seen.extend_from_slice(&buffer.unread()[..take]);
            buffer.consume(take);
            if count == 0 {
                break;
            }
        }
        assert_eq!(seen, sent);
    }

    #[tokio::test]
    async fn holds_no_storage_while_it_waits() {
        let (_far, near) = tokio::io::duplex(64);
        let mut transport = Transport::Boxed(Box::new(near));
        let mut buffer = Buffer::new();
        let waited = std::future::poll_fn(|context| Poll::Ready(buffer.poll_fill(context, &mut transport))).await;
        assert!(waited.is_pending());
        assert!(buffer.storage.is_empty());
    }
}
