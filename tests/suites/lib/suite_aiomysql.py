"""aiomysql's own tests, from its source distribution, over TLS on TCP and over a Unix socket, as its own CI runs them."""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

from processes import PASSWORD, cache_folder, say

VERSION = "0.3.2"
# What its requirements-dev.txt names and its tests import, and what its `rsa` extra brings.
PACKAGES = ["PyMySQL==1.1.2", "SQLAlchemy==1.3.24", "uvloop==0.22.1", "pytest==8.4.2", "cryptography"]


class Suite:
    name = "aiomysql"

    def __init__(self, keyword):
        self.keyword = keyword

    def prepare(self):
        self.folder = cache_folder() / f"aiomysql-{VERSION}"
        self.python = self.folder / "venv" / "bin" / "python"
        if (self.folder / "complete").exists():
            return
        say(f"getting aiomysql {VERSION} and what its tests need")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        subprocess.run([sys.executable, "-m", "venv", self.folder / "venv"], check=True)
        pip = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", *PACKAGES], check=True)
        subprocess.run(
            [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", self.folder, f"aiomysql=={VERSION}"],
            check=True,
        )
        archive = next(self.folder.glob("aiomysql-*.tar.gz"))
        subprocess.run([*pip, "install", "--no-deps", archive], check=True)
        # The tests without the package's source beside them: what is installed is what is tested.
        with tarfile.open(archive) as tar:
            tests = [member for member in tar.getmembers() if "/tests/" in member.name]
            tar.extractall(self.folder / "source", tests)
        (self.folder / f"source/aiomysql-{VERSION}/tests").rename(self.folder / "tests")
        (self.folder / "complete").touch()

    def run(self, address, flavor, only=None):
        """Gives outcome and output by the test's name, such as `tests.test_basic::test_json[tcp-asyncio]`."""
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.xml"
            if only:
                module, test = only.split("::", 1)
                choice = [f"{module.replace('.', '/')}.py::{test}"]
            else:
                choice = ["tests", *(["-k", self.keyword] if self.keyword else [])]
            ended = subprocess.run(
                [
                    self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={results}",
                    f"--mysql-address=tcp={address.host}:{address.port}", f"--mysql-unix-socket=unix={address.socket}",
                    *choice,
                ],
                cwd=self.folder,
                env={**os.environ, "MYSQL_ROOT_PASSWORD": PASSWORD},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )  # fmt: skip
            if not results.exists():
                raise SystemExit(f"suites: pytest wrote no results:\n{ended.stdout}")
            return parse(results)


def parse(path):
    found = {}
    for case in xml.parse(path).iter("testcase"):
        bad = [child for child in case if child.tag in ("failure", "error")]
        skipped = any(child.tag == "skipped" for child in case)
        outcome = "failed" if bad else "skipped" if skipped else "passed"
        found[f"{case.get('classname')}::{case.get('name')}"] = (outcome, "\n".join(child.text or "" for child in bad))
    return found
