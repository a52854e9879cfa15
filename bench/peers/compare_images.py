"""Interleaves bench/image_pipeline with other libraries, process by process, and prints the ratios of their times per image.

usage: compare_images.py BUILD_DIR FOLDER [pillow torchvision opencv] [--rounds N] [--python PATH]
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    lines = subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1")).stdout.splitlines()
    return {name: float(us) for name, us in (line.split() for line in lines)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("peers", nargs="*", default=["pillow"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    commands = {"Halyard": [str(pathlib.Path(args.build) / "bin" / "image_pipeline"), args.folder, "3"]}
    commands.update({p: [args.python, str(HERE / "images.py"), p, args.folder, "3"] for p in args.peers})
    least = {}
    for _ in range(args.rounds):
        for name, command in commands.items():
            for step, us in run(command).items():
                least.setdefault(step, {}).setdefault(name, []).append(us)
    for step, times in least.items():
        ours = min(times["Halyard"])
        print(f"{step:10}" + "".join(f"  {name} {min(t):7.1f} us ({min(t) / ours:.2f})" for name, t in times.items()))


if __name__ == "__main__":
    main()
