"""Interleaves bench/lenet_step with other frameworks, process by process (A B C A B C ...), and prints the ratios of their times.

usage: compare_lenet_step.py BUILD_DIR [pytorch mindspore ...] [--threads N] [--rounds N] [--python PATH]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def ours(build, threads):
    environment = dict(os.environ, HALYARD_THREADS=str(threads))
    command = [str(pathlib.Path(build) / "bin" / "lenet_step"), "--benchmark_format=json", "--benchmark_repetitions=9", "--benchmark_min_time=0.03"]
    runs = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    times = [r["real_time"] for r in runs if r["run_type"] == "iteration"]
    return {"Halyard": (statistics.median(times), min(times))}


def theirs(python, framework, threads):
    command = [python, str(HERE / "lenet_step.py"), framework, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    result = {}
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            print(line)
        elif len(line.split()) == 3:
            name, median, least = line.split()
            result[name] = (float(median), float(least))
    if done.returncode != 0:
        print(f"# {framework} failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("frameworks", nargs="*", default=["pytorch"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    results = {}
    for _ in range(args.rounds):
        measured = ours(args.build, args.threads)
        for framework in args.frameworks:
            measured.update(theirs(args.python, framework, args.threads))
        for name, (median, least) in measured.items():
            results.setdefault(name, []).append((median, least))
    base = (statistics.median(m for m, _ in results["Halyard"]), min(low for _, low in results["Halyard"]))
    load = os.getloadavg()[0]
    print(f"LeNet-5 step, batch 32, threads {args.threads}, {args.rounds} interleaved rounds, load average {load:.2f}")
    for name, rounds in results.items():
        median, least = statistics.median(m for m, _ in rounds), min(low for _, low in rounds)
        print(f"{name:32} median {median:9.1f} us   min {least:9.1f} us   time over Halyard's: {least / base[1]:.2f} of minima, {median / base[0]:.2f} of medians")


if __name__ == "__main__":
    main()
