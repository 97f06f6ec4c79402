//! The stream of one leg: TCP, a Unix socket, or anything with TLS around it.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout};

/// How long a peer may leave what it was sent unread. A server gives up after `net_write_timeout`, a minute; a client that
/// never reads must not keep a session for ever, and neither must a server that hangs.
const STALLED: Duration = Duration::from_secs(600);

/// How long a client may still keep a command waiting before it runs at the client's pace. Waits add up: one that takes or sends a
/// little each time is as slow as one that does nothing. One that keeps it waiting for less than a tenth of the time is not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Nothing, once it has ended.
    left: Option<Duration>,
    /// The last wait's end.
    waited: Option<Instant>,
}

impl Patience {
    const WHOLE: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Patience {
        Patience { left: Some(Patience::WHOLE), waited: None }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.left.is_none()
    }

    /// Waits for what the client has to do; `blocked` is called once, when that has taken too long. As cancel safe as `waiting`.
    pub(crate) async fn with<T>(&mut self, waiting: impl Future<Output = T>, blocked: impl FnOnce()) -> T {
        let mut waiting = std::pin::pin!(waiting);
        // What takes no waiting takes no clock.
        let at_once = poll_fn(|context| match waiting.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => Poll::Ready(None),
        });
        if let Some(done) = at_once.await {
            return done;
        }
        let Some(left) = self.left else { return waiting.await };
        let begun = Instant::now();
        let regained = self.waited.map_or(Duration::ZERO, |waited| begun.saturating_duration_since(waited) / 10);
        let left = (left + regained).min(Patience::WHOLE);
        if let Ok(done) = timeout(left, &mut waiting).await {
            let now = Instant::now();
            self.waited = Some(now);
            self.left = Some(left.saturating_sub(now - begun));
            return done;
        }
        self.left = None;
        blocked();
        waiting.await
    }
}

/// What [`Transport::send`] fails with then.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it left what it was sent unread for {} minutes", STALLED.as_secs() / 60)]
struct Stalled;

/// Whether a peer was given up because it read nothing, which a connection that broke is not.
pub(crate) fn is_stalled(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stalled>())
}

pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// The two plain sockets are named so that their calls need no indirection; the rest is boxed.
pub enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    Boxed(Box<dyn Duplex>),
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::Tcp(_) => "Tcp",
            Transport::Unix(_) => "Unix",
            Transport::Boxed(_) => "Boxed",
        })
    }
}

impl Transport {
    /// Writes all of `bytes`; a peer that takes nothing for [`STALLED`] is an error. Not cancel safe: a part may have
    /// been written.
    #[inline]
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.send_at_once(bytes).await? {
            None => Ok(()),
            Some(rest) => Box::pin(self.send_slowly(rest)).await,
        }
    }

    /// The same; `blocked` is called when the peer's patience has ended.
    #[inline]
    pub(crate) async fn send_telling(
        &mut self,
        bytes: &[u8],
        patience: &mut Patience,
        blocked: impl FnOnce() + Send,
    ) -> io::Result<()> {
        match self.send_at_once(bytes).await? {
            None => Ok(()),
            Some(rest) => Box::pin(patience.with(self.send_slowly(rest), blocked)).await,
        }
    }

    /// What the socket takes now; the rest, if there is one or nobody knows.
    #[inline]
    async fn send_at_once<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Option<&'b [u8]>> {
        let written = poll_fn(|context| match Pin::new(&mut *self).poll_write(context, bytes) {
            Poll::Ready(written) => Poll::Ready(written),
            Poll::Pending => Poll::Ready(Ok(0)),
        })
        .await?;
        // Most of the time the socket takes all of it at once, and no clock is asked.
        let is_all = written == bytes.len() && !matches!(self, Transport::Boxed(_));
        Ok((!is_all).then(|| &bytes[written..]))
    }

    async fn send_slowly(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let stalled = |_| io::Error::new(io::ErrorKind::TimedOut, Stalled);
        while !bytes.is_empty() {
            match timeout(STALLED, self.write(bytes)).await.map_err(stalled)?? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written..],
            }
        }
        // A TLS layer keeps records back until it is told.
        timeout(STALLED, self.flush()).await.map_err(stalled)?
    }
}

impl AsyncRead for Transport {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Transport::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Transport::Boxed(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Transport::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Transport::Boxed(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Boxed(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Boxed(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

/// A stream whose first bytes had already been read: a TLS hello that came with the request for TLS.
#[derive(Debug)]
pub struct Prefixed<S> {
    prefix: Vec<u8>,
    at: usize,
    inner: S,
}

impl<S> Prefixed<S> {
    pub fn new(prefix: Vec<u8>, inner: S) -> Prefixed<S> {
        Prefixed { prefix, at: 0, inner }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prefixed<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let rest = &this.prefix[this.at..];
        if rest.is_empty() {
            return Pin::new(&mut this.inner).poll_read(cx, buf);
        }
        let count = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..count]);
        this.at += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prefixed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_never_reads_is_given_up() {
        let (_far, near) = tokio::io::duplex(64);
        let mut transport = Transport::Boxed(Box::new(near));
        let error = transport.send(&[1; 1000]).await.expect_err("nobody reads");
        assert!(is_stalled(&error));
        assert_eq!(error.to_string(), "it left what it was sent unread for 10 minutes");
        assert!(!is_stalled(&io::ErrorKind::TimedOut.into()), "the system's own");
    }

    /// How often it was told, of waits so long and so far from each other.
    async fn told(waits: usize, each: u64, apart: u64) -> usize {
        let (mut patience, mut told) = (Patience::new(), 0);
        for _ in 0..waits {
            patience.with(tokio::time::sleep(Duration::from_millis(each)), || told += 1).await;
            // What is there at once takes no patience.
            patience.with(async {}, || told += 1).await;
            tokio::time::sleep(Duration::from_millis(apart)).await;
        }
        told
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_slow_that_is_waited_for_more_than_a_tenth_of_the_time() {
        for (waits, each, apart, expected) in
            [(1, 990, 0, 0), (1, 1010, 0, 1), (3, 400, 0, 1), (100, 100, 1100, 0), (100, 100, 500, 1), (100, 1, 0, 0)]
        {
            assert_eq!(told(waits, each, apart).await, expected, "{waits} waits of {each} ms, {apart} ms apart");
        }
    }
}
