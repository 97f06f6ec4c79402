"""The sandbox's servers and the built proxy, as child processes that end with us."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PASSWORD = "suite-pw"
# Root with a password, over TCP too: what both suites expect to be. MariaDB comes with more of them, and without one.
ROOT_LOGIN = (
    "DROP USER IF EXISTS root@'127.0.0.1', root@'::1', ''@localhost;"
    f" CREATE USER root@'%' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"
    f" ALTER USER root@localhost IDENTIFIED BY '{PASSWORD}'"
)


@dataclass
class Address:
    """Where a suite connects: the server itself, or the proxy."""

    host: str
    port: int
    socket: str


def cache_folder():
    """The sandbox's own choice of a place that is kept between runs."""
    named = os.environ.get("TOLLGATE_SANDBOX_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tollgate"
    folder = Path(named or base) / "suites"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def build():
    """Builds the two programs and says where they are."""
    say("building tollgate and the sandbox")
    subprocess.run(["cargo", "build", "--quiet", "-p", "tollgate", "-p", "sandbox"], cwd=ROOT, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, capture_output=True
    )
    target = Path(json.loads(metadata.stdout)["target_directory"]) / "debug"
    return {"tollgate": target / "tollgate", "sandbox": target / "sandbox"}


def say(text):
    print(f"suites: {text}", file=sys.stderr, flush=True)


class Server:
    """A fresh server. A context manager; leaving it ends the server and removes its data."""

    def __init__(self, programs, flavor):
        self.programs = programs
        self.flavor = flavor

    def __enter__(self):
        # mysql_async's tests log in by MariaDB's mysql_old_password too.
        which = {"mysql": ["--no-replica"], "mariadb": ["--only-mariadb", "--argument=--secure-auth=OFF"]}[self.flavor]
        self.child = subprocess.Popen(
            [self.programs["sandbox"], "up", *which, "--sql", ROOT_LOGIN], stdout=subprocess.PIPE, text=True
        )
        found = None
        for line in self.child.stdout:
            # name, address, pid, socket, version
            row = re.match(r"(?:primary|mariadb)\s+([\d.]+):(\d+)\s+\d+\s+(\S+)\s+(.*)", line)
            if row:
                found = row
            if line.startswith("Ctrl-C"):
                break
        if not found:
            raise SystemExit("suites: the server did not start")
        host, port, socket, self.version = found.groups()
        self.address = Address(host, int(port), socket)
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()


class Proxy:
    """`tollgate run` before a server, on a port and on a socket, with the defaults otherwise."""

    def __init__(self, programs, server):
        self.programs = programs
        self.upstream = server.address

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="tollgate-suite-")
        socket = os.path.join(self.folder, "proxy.sock")
        config = os.path.join(self.folder, "proxy.yaml")
        with open(config, "w") as file:
            file.write(
                f"listen: [127.0.0.1:0, {socket}]\n"
                f'upstream: {{ address: "{self.upstream.host}:{self.upstream.port}" }}\n'
                'probe: { user: tollgate, password: "env:TOLLGATE_PROBE_PASSWORD" }\n'
                "admin: { http: 127.0.0.1:0 }\n"
                "drain: { wait: 0s, deadline: 2s }\n"
                "log: { format: json }\n"
            )
        self.child = subprocess.Popen(
            [self.programs["tollgate"], "run", "--config", config],
            env={**os.environ, "TOLLGATE_PROBE_PASSWORD": "tollgate-pw"},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log = []
        address = self.http = None
        # In whatever order: the listeners are tasks of their own.
        while not (address and self.http):
            line = self.child.stderr.readline()
            if not line:
                self.__exit__()
                raise SystemExit("suites: the proxy did not start:\n" + "".join(self.log))
            self.log.append(line)
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("message") == "listening" and ":" in event["listen"] and "/" not in event["listen"]:
                address = event["listen"]
            if event.get("message") == "health and metrics":
                self.http = event["http"]
        threading.Thread(target=lambda: self.log.extend(self.child.stderr), daemon=True).start()
        host, port = address.rsplit(":", 1)
        self.address = Address(host, int(port), socket)
        return self

    def counter(self, name):
        with urllib.request.urlopen(f"http://{self.http}/metrics", timeout=10) as answer:
            metrics = answer.read().decode()
        return int(re.search(rf"^tollgate_{name}_total (\d+)$", metrics, re.MULTILINE).group(1))

    def is_running(self):
        return self.child.poll() is None

    def __exit__(self, *_):
        self.child.terminate()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
