#!/usr/bin/env python3
"""Compares the results that tests/arm/functions.c wrote on several machines, and prints a table: of each of C's functions,
how many of the results differ from the first machine's, and by how many units in the last place at most.

usage: function_bits.py FILE FILE...        files are named by their machines
"""
import array
import sys
from pathlib import Path

FUNCTIONS = ("expf exp2f expm1f logf log2f log10f log1pf sinf cosf tanf tanhf sinhf coshf asinf acosf atanf asinhf acoshf atanhf "
             "erff erfcf sqrtf rintf powf(x,1.7) atan2f(x,1.7)").split()


def blocks(path):
    """The results of each function, as integers in the order of the floats of one sign."""
    words = array.array("i")
    words.frombytes(Path(path).read_bytes())
    size = len(words) // len(FUNCTIONS)
    return [words[k * size:(k + 1) * size] for k in range(len(FUNCTIONS))]


def difference(ours, others):
    apart = [abs(a - b) for a, b in zip(ours, others) if a != b]
    return f"{len(apart)}, by {max(apart)}" if apart else "0"


def main():
    first, *others = sys.argv[1:]
    print("| function | " + " | ".join(Path(o).name for o in others) + " |")
    print("|---|" + "---|" * len(others))
    columns = [blocks(o) for o in others]
    for k, (name, ours) in enumerate(zip(FUNCTIONS, blocks(first))):
        print(f"| `{name}` | " + " | ".join(difference(ours, c[k]) for c in columns) + " |")


if __name__ == "__main__":
    main()
