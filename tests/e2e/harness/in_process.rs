//! The same proxy inside the test's process, with an admission of the test's own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use admission::port::{Admission, Ask, Client, Gate, Refusal, Verdict};
use relay::counters::Counter;
use relay::listener::ListenAddress;
use relay::shared::Shared;
use tokio::sync::oneshot;
use tollgate::proxy::Proxy;

/// An admission of a test's own, the same for all sessions.
pub(crate) trait Decides: Send + Sync + 'static {
    fn ask(&self, ask: &Ask<'_>) -> Verdict;
}

struct Everyone(Arc<dyn Decides>);

impl std::fmt::Debug for Everyone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Everyone")
    }
}

impl Admission for Everyone {
    fn enter(&self, _client: &Client<'_>) -> Result<Box<dyn Gate>, Refusal> {
        Ok(Box::new(Everyone(Arc::clone(&self.0))))
    }
}

impl Gate for Everyone {
    fn ask(&mut self, ask: &Ask<'_>) -> Verdict {
        self.0.ask(ask)
    }
}

#[derive(Debug)]
pub(crate) struct InProcess {
    pub(crate) address: SocketAddr,
    pub(crate) shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl InProcess {
    pub(crate) fn start(yaml: &str, decides: Arc<dyn Decides>) -> InProcess {
        let text = format!("listen: 127.0.0.1:0\ndrain: {{ wait: 0s, deadline: 0s }}\n{yaml}");
        let plan = config::Plan::from_text(&text, Path::new("test.yaml")).expect("a good configuration");
        let (started, start) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let proxy = Proxy::start(&plan, Arc::new(Everyone(decides))).expect("a proxy");
                let ListenAddress::Tcp(address) = proxy.addresses[0] else { panic!("a port") };
                started.send((address, Arc::clone(proxy.shared()))).expect("the test");
                let _ = stopped.await;
                proxy.drain().await;
            });
        });
        let (address, shared) = start.recv().expect("a started proxy");
        InProcess { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn counter(&self, counter: Counter) -> u64 {
        self.shared.counters.value(counter)
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
