"""Runs a suite both ways, looks at the tests that end differently, and tells what was found."""
import enum
import fnmatch
from contextlib import ExitStack
from dataclasses import dataclass, field

from processes import Proxy, Server, say

RERUNS = 2
# Of the tests that fail both ways; more of them mean that the server is not what the suite expects.
SHOWN = 20


class Way(enum.Enum):
    DIRECT = enum.auto()
    PROXY = enum.auto()


@dataclass
class Report:
    suite: str
    server: str
    direct: dict
    proxied: dict
    logins: int
    # test name -> why it is no finding
    flaky: dict = field(default_factory=dict)
    allowed: dict = field(default_factory=dict)
    # test name -> (direct, proxied)
    worse: dict = field(default_factory=dict)
    better: dict = field(default_factory=dict)

    def is_bad(self):
        return bool(self.worse) or not self.direct or self.logins == 0


def read_allowed(path):
    """Lines of `suite  server  test pattern  reason`, the first three without blanks in them."""
    entries = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            entries.append(line.split(None, 3))
    return entries


def both_ways(suite, flavor, programs, allowed, verbose):
    with Server(programs, flavor) as server:
        version = server.version
        say(f"{suite.name}, {version}: directly")
        direct = suite.run(server.address, flavor)
    with Server(programs, flavor) as server, Proxy(programs, server) as proxy:
        say(f"{suite.name}, {version}: through the proxy")
        proxied = suite.run(proxy.address, flavor)
        logins = proxy.counter("logins_succeeded")
    report = Report(suite.name, version, outcomes(direct), outcomes(proxied), logins)
    differing = sorted(
        name for name in direct.keys() | proxied.keys() if report.direct.get(name) != report.proxied.get(name)
    )
    for name in list(differing):
        reason = next((entry[3] for entry in allowed if matches(entry, suite, flavor, name)), None)
        if reason:
            report.allowed[name] = reason
            differing.remove(name)
    if differing:
        say(f"{len(differing)} tests end differently; running them again")
        judge(suite, flavor, programs, report, differing)
    if verbose:
        for name in differing:
            for way, results in (("directly", direct), ("through the proxy", proxied)):
                outcome, said = results.get(name, ("did not run", ""))
                print(f"--- {name}, {way}: {outcome}\n{said}")
    return report


def outcomes(results):
    return {name: outcome for name, (outcome, _) in results.items()}


def judge(suite, flavor, programs, report, differing):
    """Each of them again, by itself. One that ends alike both ways at least once is flaky, not a finding."""
    directly = again(suite, flavor, programs, differing, Way.DIRECT)
    through = again(suite, flavor, programs, differing, Way.PROXY)
    for name in differing:
        before = report.direct.get(name), report.proxied.get(name)
        seen = {before[0], *directly[name]}, {before[1], *through[name]}
        if seen[0] & seen[1]:
            report.flaky[name] = f"directly {words(seen[0])}, through the proxy {words(seen[1])}"
        else:
            (report.worse if before[0] == "passed" else report.better)[name] = before


def words(outcomes):
    return " and ".join(sorted(str(outcome) for outcome in outcomes))


def again(suite, flavor, programs, names, way):
    with ExitStack() as stack:
        server = stack.enter_context(Server(programs, flavor))
        there = server if way is Way.DIRECT else stack.enter_context(Proxy(programs, server))
        return {
            name: [suite.run(there.address, flavor, only=name).get(name, (None, ""))[0] for _ in range(RERUNS)]
            for name in names
        }


def matches(entry, suite, flavor, name):
    return all(fnmatch.fnmatchcase(value, pattern) for value, pattern in zip((suite.name, flavor, name), entry))


def print_table(reports):
    ways = ["passed", "failed", "skipped"]
    head = ["suite", "server", "", *ways, "sessions"]
    rows = []
    for report in reports:
        for way, results, logins in (("direct", report.direct, ""), ("proxy", report.proxied, report.logins)):
            counts = [sum(outcome == which for outcome in results.values()) for which in ways]
            rows.append([report.suite, report.server, way, *counts, logins])
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    print()
    for row in [head, *rows]:
        print("  ".join(f"{str(cell):<{width}}" for cell, width in zip(row, widths)).rstrip())
    for report in reports:
        print(f"\n{report.suite}, {report.server}:")
        lists = [
            ("fails only through the proxy", report.worse),
            ("passes only through the proxy", report.better),
            ("differs, allowed", report.allowed),
            ("differs from run to run", report.flaky),
        ]
        for title, found in lists:
            for name, what in sorted(found.items()):
                text = what if isinstance(what, str) else f"direct: {what[0]}, proxy: {what[1]}"
                print(f"  {title}: {name}: {text}")
        if report.direct == report.proxied:
            print("  no test ends differently")
        both = [name for name, what in report.direct.items() if what == report.proxied.get(name) == "failed"]
        for name in sorted(both)[:SHOWN]:
            print(f"  fails both ways: {name}")
        if len(both) > SHOWN:
            print(f"  and {len(both) - SHOWN} more that fail both ways")
        if report.logins == 0:
            print("  no session went through the proxy: nothing was compared")
