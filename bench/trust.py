"""Tests how reliable `halyard bench --compare` is on this machine.

usage: trust.py HALYARD [--times N] [--share PERCENT] [--quiet-only | --busy-only]

Beside a process that never rests on the same core, a kernel is compared with itself, N times: "cannot tell" is right. Then, without it, with
itself and a loop that takes 5 % of its time: "slower" is right. Exit status 1 where fewer than 95 of 100 answers are.
"""
import argparse
import collections
import re
import subprocess
import sys

NEIGHBOUR = [sys.executable, "-c", "while True: pass"]
ANSWER = re.compile(r" against .*: (cannot tell|slower|faster)( by [0-9.]+)?")


def answers(args, labels):
    counts, factors = collections.Counter(), []
    command = [args.halyard, "bench", args.op, "--shape", args.shape, "--threads", "1", "--compare", *labels]
    for _ in range(args.times):
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = ANSWER.search(out)
        counts[found.group(1)] += 1
        if found.group(2):
            factors.append(float(found.group(2).split()[1]))
    return counts, factors


def report(what, right, counts, factors):
    total = sum(counts.values())
    print(f"{what}: " + ", ".join(f"{count} of {total} {answer}" for answer, count in counts.most_common()) +
          (f"; by {min(factors):.3f} to {max(factors):.3f}" if factors else ""), flush=True)
    return counts[right] * 100 >= total * 95


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("halyard")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--share", default="5")
    parser.add_argument("--op", default="softmax")
    parser.add_argument("--shape", default="n=64 c=1000")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--quiet-only", action="store_true")
    only.add_argument("--busy-only", action="store_true")
    args = parser.parse_args()
    good = True
    if not args.quiet_only:
        with subprocess.Popen(NEIGHBOUR) as neighbour:
            try:
                good &= report("with itself, beside a busy process", "cannot tell", *answers(args, ["chosen", "chosen"]))
            finally:
                neighbour.kill()
    if not args.busy_only:
        good &= report(f"with itself and {args.share} % more work", "slower", *answers(args, [f"chosen+{args.share}%", "chosen"]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
