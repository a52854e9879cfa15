"""Interleaves one of our step programs with other frameworks, process by process (A B C A B C ...), and prints the ratios of their times.

With --mode graph our graph mode is measured, too, beside our calls op by op, to which all ratios refer; with --mode fused also graph mode with
enable_graph_kernel, and with --mode contract graph mode with numerics = "contract".

usage: compare_step.py BUILD_DIR BENCHMARK [pytorch mindspore ...] [--mode pynative|graph|fused|contract] [--threads N] [--rounds N] [--python PATH]
--help lists the benchmarks; the other frameworks have lenet5_step, resnet50_step, resnet50_forward, bert_layer, adam_200 and the chains.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# For each benchmark: the program and the peer's script, the suffix of the peers' names, or None where they don't have it, repetitions, seconds of
# each.
BENCHMARKS = {"lenet5_step": ("lenet_step", "", 9, 0.03), "lenet5_sink": ("lenet_step", None, 9, 0.03), "lenet5_nadam": ("lenet_step", None, 9, 0.03),
              "lenet5_lamb": ("lenet_step", None, 9, 0.03), "lenet5_asgd": ("lenet_step", None, 9, 0.03),
              "lenet5_new_batch": ("lenet_step", None, 9, 0.03), "lenet5_empty_sink": ("lenet_step", None, 9, 0.03), "dense_step": ("lenet_step", None, 9, 0.03),
              "dense_sink": ("lenet_step", None, 9, 0.03), "resnet50_step": ("resnet_step", "", 5, 0.01), "resnet50_forward": ("resnet_step", "-forward", 3, 0.5),
              "mobilenet_forward": ("resnet_step", None, 3, 0.5),
              "chain_small": ("chain_step", "-small", 9, 0.02), "chain_middle": ("chain_step", "-middle", 9, 0.02),
              "chain_large": ("chain_step", "-large", 9, 0.05), "chain_rms": ("chain_step", "-rms", 9, 0.05),
              "chain_rms_large": ("chain_step", "-rms-large", 9, 0.05), "bert_layer": ("encoder_step", "", 9, 0.1),
              "adam_200": ("adam_step", "", 9, 0.1)}


def ours(build, benchmark, threads, mode):
    program, _, repetitions, seconds = BENCHMARKS[benchmark]
    environment = dict(os.environ, HALYARD_THREADS=str(threads), HALYARD_MODE="PYNATIVE_MODE" if mode == "pynative" else "GRAPH_MODE",
                       HALYARD_ENABLE_GRAPH_KERNEL="1" if mode == "fused" else "0", HALYARD_NUMERICS="contract" if mode == "contract" else "same")
    command = [str(pathlib.Path(build) / "bin" / program), f"--benchmark_filter=^{benchmark}/", "--benchmark_format=json",
               f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}"]
    runs = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)["benchmarks"]
    runs = [r for r in runs if r["run_type"] == "iteration"]
    times = [r["real_time"] for r in runs]
    return {"Halyard" + {"pynative": "", "graph": " graph", "fused": " graph, fused", "contract": " graph, contract"}[mode]: (statistics.median(times), min(times), max(r.get("peak_MB", 0) for r in runs))}


def theirs(python, benchmark, framework, threads):
    program, ending, _, _ = BENCHMARKS[benchmark]
    command = [python, str(HERE / f"{program}.py"), framework + ending, "--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    result = {}
    for line in done.stdout.splitlines():
        if line.startswith("#"):
            print(line)
        elif len(line.split()) == 4:
            name, *numbers = line.split()
            result[name] = tuple(float(n) for n in numbers)
    if done.returncode != 0:
        print(f"# {framework} failed: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("benchmark", choices=list(BENCHMARKS))
    parser.add_argument("frameworks", nargs="*", default=None)
    parser.add_argument("--mode", choices=["pynative", "graph", "fused", "contract"], default="pynative")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    ending = BENCHMARKS[args.benchmark][1]
    if ending is None and args.frameworks:
        parser.error(f"the other frameworks' scripts don't have {args.benchmark}")
    if args.benchmark == "adam_200" and args.mode != "pynative":
        parser.error(f"--mode {args.mode} does nothing with adam_200, which calls the optimiser op by op")
    if not args.frameworks:
        args.frameworks = [] if ending is None else ["pytorch"]
    results = {}
    for _ in range(args.rounds):
        measured = ours(args.build, args.benchmark, args.threads, "pynative")
        if args.mode != "pynative":
            measured.update(ours(args.build, args.benchmark, args.threads, "graph"))
        if args.mode in ("fused", "contract"):
            measured.update(ours(args.build, args.benchmark, args.threads, args.mode))
        for framework in args.frameworks:
            measured.update(theirs(args.python, args.benchmark, framework, args.threads))
        for name, numbers in measured.items():
            results.setdefault(name, []).append(numbers)
    ratios = {name: statistics.median(mine[1] / base[1] for mine, base in zip(rounds, results["Halyard"])) for name, rounds in results.items()}
    base = (statistics.median(m for m, _, _ in results["Halyard"]), min(low for _, low, _ in results["Halyard"]))
    load = os.getloadavg()[0]
    print(f"{args.benchmark}, threads {args.threads}, {args.rounds} interleaved rounds, load average {load:.2f}")
    for name, rounds in results.items():
        median, least, peak = statistics.median(m for m, _, _ in rounds), min(low for _, low, _ in rounds), max(p for _, _, p in rounds)
        memory = f"   peak {peak:6.0f} MB" if peak else ""
        print(f"{name:36} median {median:10.1f} us   min {least:10.1f} us   "
              f"time over Halyard's: {least / base[1]:.2f} of minima, {median / base[0]:.2f} of medians, {ratios[name]:.3f} in the median round{memory}")


if __name__ == "__main__":
    main()
