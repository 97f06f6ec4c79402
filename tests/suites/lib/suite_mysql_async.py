"""mysql_async's own tests, from its crate's source, in the version that the workspace uses.

Its tests connect to DATABASE_URL and take SSL and COMPRESS from the environment. `prefer_socket=false`, because it
would ask the server for its socket and go around the proxy.
"""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from processes import PASSWORD, ROOT, cache_folder, say

FEATURES = "default-rustls-ring,binlog,tracing,hdrhistogram,client_ed25519,client_parsec"
MODES = {"plain": {}, "tls": {"SSL": "true"}, "compress": {"COMPRESS": "true"}}
OUTCOMES = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


class Suite:
    name = "mysql_async"

    def __init__(self, keyword):
        self.keyword = keyword

    def prepare(self):
        """A copy of the registry's source, which must not be built in, with a target folder of its own."""
        metadata = subprocess.run(
            ["cargo", "metadata", "--format-version", "1"], cwd=ROOT, check=True, capture_output=True
        )
        packages = json.loads(metadata.stdout)["packages"]
        package = next(package for package in packages if package["name"] == "mysql_async")
        self.folder = cache_folder() / f"mysql_async-{package['version']}"
        if not self.folder.exists():
            part = self.folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(Path(package["manifest_path"]).parent, part)
            part.rename(self.folder)
        say(f"building the tests of mysql_async {package['version']}")
        built = subprocess.run(self.cargo("--no-run", "--message-format=json"), cwd=self.folder, stdout=subprocess.PIPE)
        built.check_returncode()
        messages = [json.loads(line) for line in built.stdout.splitlines()]
        self.programs = [
            message["executable"] for message in messages if message.get("executable") and message["profile"]["test"]
        ]

    def cargo(self, *more):
        target = str(cache_folder() / "target")
        return [
            "cargo", "test", "--quiet", "--lib", "--tests", "--no-default-features", "--features", FEATURES,
            "--target-dir", target, *more,
        ]  # fmt: skip

    def run(self, address, flavor, only=None):
        """Gives outcome and output by the test's name, which begins with the mode: `tls::conn::test::should_connect`."""
        results = {}
        for mode, environment in MODES.items():
            if only and not only.startswith(f"{mode}::"):
                continue
            url = f"mysql://root:{PASSWORD}@{address.host}:{address.port}/mysql?prefer_socket=false"
            for program in self.programs:
                choice = ["--exact", only.split("::", 1)[1]] if only else [self.keyword] if self.keyword else []
                ended = subprocess.run(
                    [program, *choice],
                    cwd=self.folder,
                    env={**os.environ, **environment, "DATABASE_URL": url, "RUST_BACKTRACE": "0"},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
                results.update((f"{mode}::{name}", found) for name, found in parse(ended.stdout).items())
        return results


def parse(output):
    """From the lines of libtest: `test name ... ok`, and what it says of those that failed."""
    results = {}
    for name, outcome in re.findall(r"^test (\S+)(?: - should panic)? \.\.\. (\w+)", output, re.MULTILINE):
        said = re.search(rf"^---- {re.escape(name)} stdout ----\n(.*?)(?=^----|^failures:)", output, re.M | re.S)
        results[name] = (OUTCOMES.get(outcome, outcome), said.group(1) if said else "")
    return results
