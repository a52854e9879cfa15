"""Shared by the steps of other frameworks: timing and the command line."""
import argparse
import resource
import statistics
import time


def timed(name, step, steps, warm=20):
    """Prints "NAME MEDIAN_US MIN_US PEAK_MB"."""
    for _ in range(warm):
        step()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e6)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name} {statistics.median(times):.1f} {min(times):.1f} {peak:.0f}", flush=True)


def main(frameworks, steps):
    """frameworks: name -> function of threads and steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("frameworks", nargs="*", default=["pytorch"], choices=list(frameworks))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=steps)
    args = parser.parse_args()
    for name in args.frameworks:
        try:
            frameworks[name](args.threads, args.steps)
        except ImportError as error:
            print(f"# {name} isn't installed: {error}", flush=True)
