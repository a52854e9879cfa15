#!/usr/bin/env python3
"""Runs a ninja build and says how far it is and how long it may still take, instead of a line for each step.

usage: progress.py LOG COMMAND...
Every line goes to LOG; what isn't a step (a compiler's messages) is printed as well. On a terminal one line is
written over and over, elsewhere a line follows every half minute. The exit status is the command's.
"""
import re
import subprocess
import sys
import time

STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)$")
# What a step costs beside another, roughly, in a build from nothing: an op file's kernels take about eight times as
# long as a source, several sources joined as one (CMake's unity builds) about four times.
WEIGHTS = [("/Unity/", 4.0), (".records.cpp", 0.4), ("Building", 1.0), ("List of", 0.1), ("Kernels of", 8.0), ("Linking", 0.2)]
OTHER_WEIGHT = 0.1
SECONDS_BETWEEN_LINES = 30.0


def weight(step):
    """The cost of a step by its description."""
    return next((w for mark, w in WEIGHTS if mark in step), OTHER_WEIGHT)


def duration(seconds):
    """45 s, 3 min, 1 h 40 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class Estimate:
    """How far a build is, by the weights of the steps that it plans and of those that it has done."""

    def __init__(self, planned):
        self.planned = len(planned)
        self.left = sum(weight(step) for step in planned)
        self.done = 0.0

    def finish(self, step, number, total):
        """Counts step `number` of `total` as done. Where more steps came than were planned, as after a change
        of a CMakeLists.txt, those that are left count alike."""
        self.done += weight(step)
        self.left = max(0.0, self.left - weight(step))
        if total > self.planned:
            self.left = self.done / number * (total - number)

    def share(self):
        """Between 0 and 1."""
        total = self.done + self.left
        return self.done / total if total else 1.0

    def seconds_left(self, elapsed):
        """None before anything is done."""
        return elapsed * self.left / self.done if self.done else None


def status_line(estimate, number, total, elapsed, step):
    """[halyard] 37 % (312 of 951 steps) after 4 min, about 7 min left: Kernels of conv2d"""
    left = estimate.seconds_left(elapsed)
    about = "" if left is None else f", about {duration(left)} left"
    return f"[halyard] {100 * estimate.share():.0f} % ({number} of {total} steps) after {duration(elapsed)}{about}: {step}"


def planned_steps(command):
    """Descriptions of all steps that the build would take; none where it can't say."""
    dry = subprocess.run(command + ["--", "-n"], capture_output=True, text=True, check=False)
    return [m[3] for m in map(STEP.match, dry.stdout.splitlines()) if m]


class Printer:
    """One line, written over and over on a terminal; elsewhere a line every half minute."""

    def __init__(self, out):
        self.out = out
        self.terminal = out.isatty()
        self.shown = False
        self.last = time.monotonic()

    def message(self, line):
        """A line that stays."""
        self.clear()
        self.out.write(line + "\n")
        self.out.flush()

    def status(self, line):
        """A line that the next one replaces."""
        if self.terminal:
            self.out.write("\r\033[K" + line[:100])
            self.shown = True
            self.out.flush()
        elif time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
            self.last = time.monotonic()
            self.message(line)

    def clear(self):
        """Removes the line that would be replaced."""
        if self.shown:
            self.out.write("\r\033[K")
            self.shown = False


def main(arguments):
    """See the top of this file."""
    if len(arguments) < 2:
        sys.stderr.write(__doc__)
        return 2
    log_path, command = arguments[0], arguments[1:]
    estimate, printer, start = Estimate(planned_steps(command)), Printer(sys.stdout), time.monotonic()
    with open(log_path, "w", encoding="utf-8") as log, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as build:
        for line in build.stdout:
            line = line.rstrip("\n")
            log.write(line + "\n")
            step = STEP.match(line)
            if not step:
                printer.message(line)
                continue
            estimate.finish(step[3], int(step[1]), int(step[2]))
            printer.status(status_line(estimate, step[1], step[2], time.monotonic() - start, step[3]))
    printer.clear()
    return build.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
