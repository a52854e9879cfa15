#!/usr/bin/env python3
"""Checks that the files and links that README.md, CONTRIBUTING.md and docs/ name exist.

usage: check_paths.py SOURCE_DIR
A name in backquotes counts if it begins with a folder of the project and ends like a file; a link
counts if it is relative. Prints file:line: name for each that is missing.
"""
import re
import sys
from pathlib import Path

FOLDERS = "ascend|bench|cmake|data|docs|dsl|examples|gpu|kernels|nn|primitives|registry|scripts|tests|tools|train"
FILE = re.compile(rf"`((?:{FOLDERS})/[\w./-]+\.(?:h|cpp|md|txt|py|sh|cmake|records))`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)")
GENERATED = {"primitives/ops.h"}
WRITTEN_BY_TOUR = re.compile(r"^```cpp (\S+)$", re.M)


def main():
    root = Path(sys.argv[1])
    pages = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md",
             root / "examples" / "README.md", *sorted((root / "docs").rglob("*.md"))]
    missing = 0
    for page in pages:
        content = page.read_text()
        own = GENERATED | set(WRITTEN_BY_TOUR.findall(content))
        for number, line in enumerate(content.split("\n"), 1):
            names = [(name, root / name) for name in FILE.findall(line) if name not in own]
            names += [(link, page.parent / link) for link in LINK.findall(line)]
            for name, path in names:
                if not path.exists():
                    print(f"{page.relative_to(root)}:{number}: {name} does not exist")
                    missing += 1
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
