#!/usr/bin/env python3
"""Writes a reference of the public headers in Markdown: a page per folder, with an index.

usage: api_reference.py OUT_DIR
For each header: the comment at its top, then every class, struct, enum, function and alias that it
declares in namespace halyard, with its comment and declaration; of classes also the public members.
Private members and namespaces called `detail` are left out. tree-sitter parses the headers
(scripts/requirements.txt), which takes some seconds and no compiler.
"""
import re
import sys
import textwrap
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

ROOT = Path(__file__).resolve().parent.parent
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
# Page: title, and the headers on it.
PAGES = {
    "ops": ("Writing ops", ["dsl/op.h", "dsl/dim_expr.h", "dsl/variant.h", "dsl/backend.h",
                            "dsl/real.h", "dsl/problem.h", "registry/op/problem.h", "dsl/chain.h",
                            "dsl/ascend/schedule.h", "primitives/composites/composite.h", "registry/op/op_record.h",
                            "registry/op/signature.h", "registry/op/expr.h",
                            "kernels/elementwise/elementwise.h", "kernels/rowwise/rows.h",
                            "kernels/reduction/reduction.h"]),
    "tensor": ("Tensors and errors", ["registry/tensor/tensor.h", "registry/tensor/shape.h",
                                      "registry/tensor/dtype.h", "registry/tensor/npy.h",
                                      "registry/base/error.h", "registry/base/parallel.h"]),
    "primitives": ("Primitives and gradients", ["primitives/*.h", "primitives/autograd/tape.h",
                                                "primitives/composites/concat.h",
                                                "primitives/composites/einsum.h"]),
    "nn": ("Layers, losses and optimisers", ["nn/*.h"]),
    "train": ("Training", ["train/*.h", "train/callbacks/*.h", "train/checkpoint/*.h",
                           "train/metrics/*.h"]),
    "data": ("Data pipelines", ["train/data/*.h", "train/formats/*.h", "train/vision/*.h"]),
}
DECLARATIONS = {"declaration", "field_declaration", "function_definition", "alias_declaration",
                "type_definition", "template_declaration", "class_specifier", "struct_specifier",
                "enum_specifier"}
TYPES = {"class_specifier", "struct_specifier", "enum_specifier"}


def text(node):
    return node.text.decode(errors="replace")


def comment_text(comments):
    """The words of a run of // comments; indented lines keep their line breaks."""
    lines = [re.sub(r"^///? ?", "", line.strip()) for c in comments for line in text(c).split("\n")]
    return "\n".join(lines).strip()


def without_body(node):
    """A declaration as one line: its text up to a body or the initialisers of a constructor."""
    end = node.end_byte
    for part in [node, *node.children]:
        body = part.child_by_field_name("body")
        cuts = [body] if body is not None else []
        cuts += [child for child in part.children if child.type == "field_initializer_list"]
        end = min([end, *(cut.start_byte for cut in cuts)])
    source = node.text[:end - node.start_byte].decode(errors="replace")
    source = re.sub(r"//[^\n]*", "", source)
    return re.sub(r"\s+", " ", source).strip().rstrip("{;: ").strip()


def type_of(node):
    """The class, struct or enum that a declaration defines, or None."""
    if node.type in TYPES:
        return node if node.child_by_field_name("body") is not None else None
    if node.type in ("declaration", "field_declaration", "template_declaration"):
        for child in node.children:
            found = type_of(child)
            if found is not None:
                return found
    return None


def trailing_comment(nodes, index):
    """The comment behind a declaration, on the same line."""
    if index + 1 < len(nodes):
        after = nodes[index + 1]
        if after.type == "comment" and after.start_point[0] == nodes[index].end_point[0]:
            return after
    return None


def items_of(nodes, default_access):
    """(comment, node) of the public declarations in a list of siblings."""
    items, run, access, used = [], [], default_access, set()
    for index, node in enumerate(nodes):
        if node.type == "comment":
            if node.id not in used:
                if run and node.start_point[0] > run[-1].end_point[0] + 1:
                    run = []
                run.append(node)
            continue
        if node.type == "access_specifier":
            access = text(node).rstrip(":").strip()
        elif node.type in DECLARATIONS and access == "public":
            behind = trailing_comment(nodes, index)
            comments = list(run) if run and node.start_point[0] <= run[-1].end_point[0] + 1 else []
            if behind is not None:
                comments.append(behind)
                used.add(behind.id)
            items.append((comment_text(comments), node))
        if node.type not in (";", ":"):
            run = []
    return items


def member_lines(type_node):
    body = type_node.child_by_field_name("body")
    if type_node.type == "enum_specifier":
        return [f"`{re.sub(r'[ ]+', ' ', re.sub(r'//[^' + chr(10) + ']*', '', text(body)).replace(chr(10), ' ')).strip()}`"]
    access = "private" if type_node.type == "class_specifier" else "public"
    lines = []
    for comment, node in items_of(body.children, access):
        declaration = without_body(node)
        if declaration.startswith(("using ", "friend ")) or "= delete" in text(node):
            continue
        note = " ".join(comment.split())
        lines.append(f"- `{declaration}`" + (f": {note}" if note else ""))
    return lines


def namespaces(node, name="halyard"):
    """The bodies of namespace halyard and the public namespaces within it, with their names."""
    for child in node.children:
        if child.type == "namespace_definition":
            label = child.child_by_field_name("name")
            inner = text(label) if label is not None else "detail"
            body = child.child_by_field_name("body")
            if "detail" in inner or body is None:
                continue
            full = inner if inner.startswith("halyard") else f"{name}::{inner}"
            yield full, body
            yield from namespaces(body, full)
        elif child.type.startswith("preproc_if"):
            yield from namespaces(child, name)


def header_section(path):
    """Markdown of one header, or '' if it declares nothing public."""
    root = PARSER.parse((ROOT / path).read_bytes()).root_node
    top = []
    for node in root.children:
        if node.type != "comment":
            break
        top.append(node)
    parts = []
    for space, body in namespaces(root):
        for comment, node in items_of(body.children, "public"):
            declared = type_of(node)
            declaration = without_body(declared if declared is not None and node.type != "template_declaration" else node)
            if not declaration or declaration.startswith(("extern", "static_assert", "friend", "template<>")):
                continue
            where = "" if space == "halyard" else f" ({space})"
            parts.append(f"```cpp\n{wrapped(declaration)}\n```{where and chr(10) + where.strip()}\n")
            if comment:
                parts.append(f"{comment}\n")
            if declared is not None:
                members = member_lines(declared)
                if members:
                    parts.append("\n".join(members) + "\n")
    if not parts:
        return ""
    about = comment_text(top)
    return f"## {path}\n\n" + (f"{about}\n\n" if about else "") + "\n".join(parts)


def wrapped(declaration):
    return "\n".join(textwrap.wrap(declaration, 98, subsequent_indent="    ", break_long_words=False))


def headers_of(patterns):
    found = []
    for pattern in patterns:
        found += sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(pattern))
    return list(dict.fromkeys(found))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    index = ["# API reference", "",
             "The public headers, made from their declarations and comments by scripts/api_reference.py.",
             "Programs include them as `#include \"halyard/nn/dense.h\"`, or all of them as",
             "`#include \"halyard/halyard.h\"`. `halyard docs` has the primitives themselves.", ""]
    for name, (title, patterns) in PAGES.items():
        headers = headers_of(patterns)
        if not headers:
            sys.exit(f"api_reference: no header matches {patterns}")
        sections = [(h, header_section(h)) for h in headers]
        sections = [(h, s) for h, s in sections if s]
        (out / f"{name}.md").write_text(f"# {title}\n\n" + "\n".join(s for _, s in sections))
        index.append(f"- [{title}]({name}.md): " + ", ".join(f"`{h}`" for h, _ in sections))
    (out / "index.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
