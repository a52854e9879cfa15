#!/usr/bin/env python3
"""Prints how the C++ surface of the tree reads, beside codebases that we look up to.

usage: surface.py [--root DIR]
A mirror, not a target (docs/style.md has the latest table). The anchors' figures were measured from
their own files with an earlier version of this script (snapshots of 2025-05 to 2026-08); figures
marked "about" count by regular expressions, +-10 %. Tests and examples count where it says so.
"""
import argparse
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import check_includes
import complexity

# Trait -> what the anchors have.
ANCHORS = {
    "files": "-",
    "file length, median / max": "YNNPACK 116 / 2,435; MLX 116 / 6,762; Halide 168 / 6,212",
    "tokens per non-blank line": "gemma.cpp 7.4, DuckDB 7.6, MLX 7.7, Halide 7.9, Highway 7.9, ggml 9.4",
    "lines over 100 columns": "Highway 0, fmt 0, MLX 0.04 %, DuckDB 7.2 %",
    "longest line": "Highway 97, fmt 100",
    "lines with two statements (about)": "DuckDB 0.07 %, Highway 0.08 %, Halide 0.25 %",
    "comma operators as statements": "at most 0.2 % of lines",
    "comment share of non-blank lines": "gemma.cpp 18.5 %, Halide 16.2 %, Highway 15.6 %, DuckDB 10.9 %, MLX 7.3 %",
    "comment blocks that open with a fragment (about)": "DuckDB 1.0 %, MLX 1.5 %, YNNPACK 1.6 %, Halide 2.9 %",
    "functions over 60 lines / over 100": "fmt 1.26 %, YNNPACK 2.8 %, MLX 7.6 %",
    "cognitive complexity over 25; max": "not measured",
    "C-style casts of numbers (about)": "Highway 3, YNNPACK 9, MLX 17",
    "largest folder, files": "DuckDB 57, MLX 53, YNNPACK 48",
    "component cycles (header with its source)": "not measured",
}

TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\d[\w.\']*|'
                   r'<<=|>>=|<=>|->\*|\.\.\.|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w]', re.S)
CAST = re.compile(r"\((size_t|int|int64_t|double|float|long)\)\s*[\w(]")
FRAGMENT = re.compile(r"^(Of|What|As|That|Those|Where|With|Whose|Which|Who|By|Like|From|Not|Nothing|Only)\b")
TWO_STATEMENTS = re.compile(r"^(?!\s*for\b)[^\"']*;\s*[\w*&(:].*;\s*(//.*)?$")


def files_of(root):
    out = subprocess.run(["git", "ls-files", "--", "*.h", "*.cpp"], cwd=root, capture_output=True, check=True, text=True)
    return [name for name in out.stdout.split() if (root / name).is_file()]


def is_test(name):
    return name.startswith(("tests/", "examples/"))


def comment_blocks(lines):
    """The text of each run of comment lines."""
    block = []
    for line in lines + [""]:
        stripped = line.strip()
        if stripped.startswith("//"):
            block.append(stripped.lstrip("/ "))
        elif block:
            yield " ".join(block)
            block = []


def percent(part, whole):
    return f"{100 * part / max(whole, 1):.2f} %"


def figures(root):
    names = files_of(root)
    own = [name for name in names if not is_test(name)]
    texts = {name: (root / name).read_text(errors="replace") for name in names}
    lengths = [texts[name].count("\n") for name in own]
    all_lines = [line for name in own for line in texts[name].split("\n")]
    filled = [line for line in all_lines if line.strip()]
    comments = [line for line in filled if line.strip().startswith("//")]
    tokens = sum(len(TOKEN.findall(re.sub(r"//[^\n]*", "", texts[name]))) for name in own)
    blocks = [block for name in own for block in comment_blocks(texts[name].split("\n"))]
    fragments = [block for block in blocks if FRAGMENT.match(block)]
    functions, commas = [], 0
    for name in own:
        tree = complexity.PARSER.parse(texts[name].encode())
        functions += complexity.functions_of(name, tree.root_node)
        commas += len(complexity.comma_statements(tree.root_node))
    folders = defaultdict(int)
    for name in names:
        folders[str(Path(name).parent)] += 1
    folder, most = max(folders.items(), key=lambda item: item[1])
    cycles = check_includes.component_cycles(root, own)
    longest = max(len(line) for line in all_lines)
    return {
        "files": f"{len(own)}, and {len(names) - len(own)} of tests and examples",
        "file length, median / max": f"{statistics.median(lengths):.0f} / {max(lengths):,}",
        "tokens per non-blank line": f"{tokens / len(filled):.1f}",
        "lines over 100 columns": percent(sum(len(line) > 100 for line in filled), len(filled)),
        "longest line": str(longest),
        "lines with two statements (about)": percent(sum(bool(TWO_STATEMENTS.match(line)) for line in filled), len(filled)),
        "comma operators as statements": str(commas),
        "comment share of non-blank lines": percent(len(comments), len(filled)),
        "comment blocks that open with a fragment (about)": f"{percent(len(fragments), len(blocks))} of {len(blocks):,}",
        "functions over 60 lines / over 100":
            f"{sum(f.lines > 60 for f in functions)} ({percent(sum(f.lines > 60 for f in functions), len(functions))}) / "
            f"{sum(f.lines > 100 for f in functions)} of {len(functions):,}",
        "cognitive complexity over 25; max":
            f"{sum(f.complexity > 25 for f in functions)}; {max(f.complexity for f in functions)}",
        "C-style casts of numbers (about)": str(sum(len(CAST.findall(line.split("//")[0])) for line in all_lines)),
        "largest folder, files": f"{folder} {most}",
        "component cycles (header with its source)":
            f"{len(cycles)}" + (f", the largest of {max(map(len, cycles))}" if cycles else ""),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    args = parser.parse_args()
    sys.setrecursionlimit(10000)
    print("| trait | anchors | here |\n|---|---|---|")
    for trait, value in figures(args.root).items():
        print(f"| {trait} | {ANCHORS[trait]} | {value} |")


if __name__ == "__main__":
    main()
