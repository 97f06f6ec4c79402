//! The floor: the smallest tokio program that copies packets both ways. No proxy on tokio that looks at what it
//! forwards can do less than this.
//!
//! `bare_relay [--per-core] LISTEN UPSTREAM`: one shared multi-thread runtime, or one current-thread runtime a
//! core with the port shared through SO_REUSEPORT.
#![forbid(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;

fn main() -> io::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let per_core = arguments.first().is_some_and(|argument| argument == "--per-core");
    let addresses: Vec<SocketAddr> =
        arguments.drain(usize::from(per_core)..).filter_map(|argument| argument.parse().ok()).collect();
    let &[listen, upstream] = addresses.as_slice() else {
        return Err(io::Error::other("usage: bare_relay [--per-core] ADDRESS:PORT ADDRESS:PORT"));
    };
    if !per_core {
        return Builder::new_multi_thread().enable_io().build()?.block_on(serve(listen, upstream));
    }
    let run = move || Builder::new_current_thread().enable_io().build()?.block_on(serve(listen, upstream));
    for _ in 1..std::thread::available_parallelism()?.get() {
        std::thread::spawn(run);
    }
    run()
}

async fn serve(listen: SocketAddr, upstream: SocketAddr) -> io::Result<()> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(listen)?;
    let listener = socket.listen(1024)?;
    loop {
        let (client, _) = listener.accept().await?;
        tokio::spawn(relay(client, upstream));
    }
}

async fn relay(mut client: TcpStream, upstream: SocketAddr) -> io::Result<()> {
    let mut server = TcpStream::connect(upstream).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
