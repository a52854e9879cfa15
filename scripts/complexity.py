#!/usr/bin/env python3
"""Lists functions that are too long or too complex, and comma operators used as statements.

usage: complexity.py [--all] [FILE.cpp ...]     without files: every C++ file of the project
A function has at most 60 lines and a cognitive complexity of at most 25 (Campbell: "Cognitive
Complexity", SonarSource 2018). Functions above that stand in scripts/complexity.txt with their
numbers: a new one, or one whose numbers grew, is a violation; one that no longer exceeds the limits
must leave the list, so that it only shrinks. --all prints the numbers of every function instead.

Sources are parsed by tree-sitter (scripts/requirements.txt): no compiler, some seconds for all.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "scripts" / "complexity.txt"
MAX_LINES, MAX_COMPLEXITY = 60, 25
NESTING = {"if_statement", "for_statement", "for_range_loop", "while_statement", "do_statement",
           "switch_statement", "catch_clause", "conditional_expression"}
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def text(node):
    return node.text.decode(errors="replace")


def operator_of(node):
    """'&&' or '||' of a logical expression, else None."""
    if node.type != "binary_expression":
        return None
    symbol = node.child_by_field_name("operator")
    return text(symbol) if symbol is not None and text(symbol) in ("&&", "||") else None


def complexity(node, nesting=0):
    """Cognitive complexity of a subtree whose surrounding control structures are `nesting` deep."""
    total = 0
    inner = nesting
    if node.type in NESTING:
        is_else_if = node.type == "if_statement" and node.parent is not None and \
            node.parent.type == "else_clause"
        total += 1 if is_else_if else 1 + nesting
        inner = nesting if is_else_if else nesting + 1
    elif node.type == "else_clause":
        if not any(child.type == "if_statement" for child in node.named_children):
            total += 1
    elif node.type == "goto_statement":
        total += 1
    elif node.type == "lambda_expression":
        inner = nesting + 1
    symbol = operator_of(node)
    if symbol and (node.parent is None or operator_of(node.parent) != symbol):
        total += 1
    return total + sum(complexity(child, inner) for child in node.children)


def name_of(function):
    """Qualified name: the classes around it, and what its declarator calls it."""
    declarator = function.child_by_field_name("declarator")
    if declarator is not None and text(declarator).startswith("TEST"):
        return " ".join(text(declarator).split())  # a test's name is the macro's arguments
    while declarator is not None and declarator.child_by_field_name("declarator") is not None:
        declarator = declarator.child_by_field_name("declarator")
    parts = [text(declarator).split("\n")[0] if declarator is not None else "?"]
    around = function.parent
    while around is not None:
        if around.type in ("class_specifier", "struct_specifier"):
            name = around.child_by_field_name("name")
            if name is not None:
                parts.insert(0, text(name))
        around = around.parent
    return "::".join(parts)


class Function:
    def __init__(self, path, node):
        self.path = path
        self.line = node.start_point[0] + 1
        self.name = name_of(node)
        self.lines = node.end_point[0] - node.start_point[0] + 1
        body = node.child_by_field_name("body")
        self.complexity = complexity(body) if body is not None else 0

    def exceeds(self):
        return self.lines > MAX_LINES or self.complexity > MAX_COMPLEXITY

    def key(self):
        return f"{self.path} {self.name}"


def functions_of(path, root_node):
    found = []
    stack = [root_node]
    while stack:
        node = stack.pop()
        if node.type == "function_definition":
            found.append(Function(path, node))
        stack.extend(node.children)
    return sorted(found, key=lambda function: function.line)


def comma_statements(root_node):
    """Lines where a comma operator strings statements together: anywhere but in a for's head."""
    lines = []
    stack = [root_node]
    while stack:
        node = stack.pop()
        if node.type == "comma_expression" and not node.has_error and \
                node.parent.type in ("expression_statement", "return_statement"):
            statement = node.parent
            around = statement.parent
            if not (around.type == "for_statement" and
                    around.child_by_field_name("body") != statement):
                lines.append(node.start_point[0] + 1)
        stack.extend(node.children)
    return sorted(lines)


def project_files():
    out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.h", "*.cpp"],
                         cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [name for name in out.split("\n") if name and (ROOT / name).is_file()]


def exceptions():
    """Listed functions as {key: (lines, complexity)}."""
    listed = {}
    if EXCEPTIONS.exists():
        for line in EXCEPTIONS.read_text().splitlines():
            if line and not line.startswith("#"):
                lines, value, key = line.split(None, 2)
                listed[key] = (int(lines), int(value))
    return listed


def check(names, whole_project):
    errors = []
    listed = exceptions()
    seen = set()
    for name in names:
        path = ROOT / name if (ROOT / name).exists() else Path(name)
        tree = PARSER.parse(path.read_bytes())
        for line in comma_statements(tree.root_node):
            errors.append(f"{name}:{line}: a comma operator strings statements together: one statement a line")
        for function in functions_of(name, tree.root_node):
            if not function.exceeds():
                continue
            key = function.key()
            lines, value = listed.get(key, (MAX_LINES, MAX_COMPLEXITY))
            seen.add(key)
            if function.lines > max(lines, MAX_LINES) or function.complexity > max(value, MAX_COMPLEXITY):
                errors.append(f"{name}:{function.line}: {function.name} has {function.lines} lines and a cognitive "
                              f"complexity of {function.complexity}; at most {max(lines, MAX_LINES)} and "
                              f"{max(value, MAX_COMPLEXITY)}: find its steps")
    if whole_project:
        for key in sorted(set(listed) - seen):
            errors.append(f"scripts/complexity.txt: {key} is within the limits now: take its line away")
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="print every function's lines and complexity")
    parser.add_argument("--write", action="store_true", help="write the list of exceptions anew")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    sys.setrecursionlimit(10000)
    names = args.files or project_files()
    if args.all or args.write:
        functions = [f for name in names for f in functions_of(name, PARSER.parse((ROOT / name).read_bytes()).root_node)]
        if args.all:
            for f in functions:
                print(f.lines, f.complexity, f"{f.path}:{f.line}", f.name)
            return 0
        rows = sorted(f"{f.lines:4d} {f.complexity:3d} {f.key()}" for f in functions if f.exceeds())
        EXCEPTIONS.write_text("# Functions over 60 lines or over a cognitive complexity of 25: lines, complexity, file, name.\n"
                              "# This list only shrinks (scripts/complexity.py).\n" + "\n".join(sorted(rows, key=lambda r: r[9:])) + "\n")
        return 0
    errors = check(names, not args.files)
    print(*errors, f"{len(errors)} violations", sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
