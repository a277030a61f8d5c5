# SPDX-License-Identifier: GPL-2.0-or-later
"""How a test ended: its cases as it printed them, and what is said of them."""
import collections
import re

CASE = re.compile(r"^(ok|not ok|skip) (.*)$")
# Lines of a failed case's output: below its test, and again at the end, of which
# a CI may show no more than the last forty lines.
SHOWN, SHOWN_AGAIN = 20, 15
# Characters of the line that sums up why cases were skipped.
REASONS = 400


class Outcome:
    """failures: (line, lines of output) of each failed case."""

    def __init__(self, name, log):
        self.name, self.log = name, log
        self.passed, self.skips, self.failures = 0, [], []
        self.seconds = self.cpu = 0.0

    def counts(self):
        return self.passed, len(self.failures), len(self.skips)

    def fail(self, why, lines=()):
        """It has a failed case of its own."""
        self.failures.append(("not ok %s: %s" % (self.name, why), list(lines)))

    def read(self, end):
        """Its output; end: an exit code, or what went wrong as text."""
        lines = self.lines(".out")
        more = None     # what the test says about a failed case
        for line in lines:
            m = CASE.match(line)
            if not m:
                if more is not None:
                    more.append(line)
                continue
            more = None
            if m.group(1) == "ok":
                self.passed += 1
            elif m.group(1) == "skip":
                self.skips.append(m.group(2))
            else:
                more = []
                self.failures.append((line, more))
        if end == 77 and not any(self.counts()):
            self.skips.append("all of it: " +
                              (" ".join(lines) or "no reason given"))
            return
        why = None
        if isinstance(end, str):
            why = end
        elif not any(self.counts()):
            why = "printed no case (exit code %d)" % end
        elif end != 0 and not self.failures:
            why = "exit code %d though no case failed" % end
        if why:
            self.fail(why, ["  | " + l for l in
                            lines[-SHOWN // 2:] + self.lines(".err")])

    def lines(self, kind):
        try:
            with open(self.log + kind, errors="replace") as f:
                return f.read().splitlines()
        except OSError:     # it was not started
            return []

    def reasons(self):
        """Why cases were skipped, and how many for each reason, on one line."""
        count = collections.Counter(
            re.sub(r" \([^()]*\)$", "", s.partition(": ")[2] or s)
            for s in self.skips)
        text = "; ".join("%d: %s" % (n, why) for why, n in count.most_common())
        return text if len(text) <= REASONS else text[:REASONS] + "..."

    def show(self):
        print("== " + self.name)
        if self.skips:
            print("  skip %s (the cases: %s.out)" % (self.reasons(), self.log))
        for line, more in self.failures:
            print("  " + line)
            self.show_tail(more, SHOWN)
        print("   %d passed, %d failed, %d skipped  (%.1f s, %.1f s of CPU)" % (
            *self.counts(), self.seconds, self.cpu), flush=True)

    def show_tail(self, lines, most):
        if len(lines) > most:
            print("  ... %d lines before these" % (len(lines) - most))
        for line in lines[-most:]:
            print("  " + line)


def show_seconds(outcomes, path):
    """The tests that took longest, and in a file what each took."""
    by_time = sorted(outcomes, key=lambda o: -o.seconds)
    with open(path, "w") as f:
        f.write("  seconds  of CPU  test\n")
        for o in by_time:
            f.write("%9.1f %7.1f  %s\n" % (o.seconds, o.cpu, o.name))
    print("seconds: %s (all: %s)" % (", ".join(
        "%s %.0f" % (o.name, o.seconds) for o in by_time[:12]), path))


def of_test(name, case):
    """A case's line with its test's name, which a test's own failures have."""
    return case if case.startswith(name + ":") else name + " " + case


def show_failures(outcomes):
    """Each failed case again, with the end of its output."""
    failed = [(o, of_test(o.name, line[len("not ok "):]), more)
              for o in outcomes for line, more in o.failures]
    for o, line, more in failed:
        print("FAILED " + line[:500])
        o.show_tail(more, SHOWN_AGAIN)
        print("  all of its output: %s.out, %s.err" % (o.log, o.log))
    if len(failed) > 2:     # the first ones are out of sight
        print("failed: " + ", ".join(
            line.partition(": ")[0] for _, line, _ in failed[:100]))
