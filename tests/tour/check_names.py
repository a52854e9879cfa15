#!/usr/bin/env python3
"""Checks that the C++ names in docs/porting.md are declared in the public headers.

usage: check_names.py SOURCE_DIR
A name counts if it stands in the column "here" between backquotes and begins with nn::, dataset:: or
a capital letter, or is the first word of a call. Prints each that no header of nn/, primitives/ or
train/ declares.
"""
import re
import sys
from pathlib import Path

QUOTED = re.compile(r"`([^`]+)`")
WORD = re.compile(r"^(?:nn::|dataset::(?:transforms::|vision::)?)?(\w+)")


def declared(root):
    names = set()
    for folder in ("nn", "primitives", "train"):
        for header in (root / folder).rglob("*.h"):
            text = header.read_text()
            names |= set(re.findall(r"\b(?:class|struct|using)\s+(\w+)", text))
            names |= set(re.findall(r"\b(\w+)\(", text))
    return names


def here(line, column):
    cells = line.split("|")[1:-1]
    return cells[column] if column < len(cells) else ""


def main():
    root = Path(sys.argv[1])
    known = declared(root)
    column, missing, checked = None, 0, 0
    for number, line in enumerate((root / "docs/porting.md").read_text().split("\n"), 1):
        if not line.startswith("|"):
            column = None
            continue
        if column is None:
            column = [cell.strip() for cell in line.split("|")[1:-1]].index("here")
            continue
        for quoted in QUOTED.findall(here(line, column)):
            name = WORD.match(quoted)
            if not name:  # a field: .params
                continue
            checked += 1
            if name.group(1) not in known:
                print(f"docs/porting.md:{number}: {quoted} is not declared")
                missing += 1
    print(f"{checked} names checked")
    sys.exit(1 if missing or not checked else 0)


if __name__ == "__main__":
    main()
