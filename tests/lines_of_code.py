"""Lines of code, without blank lines, comments and docstrings, by package: ``python -m lines_of_code``.

Only Python counts; data, templates and style sheets do not.
"""

import ast
import io
import tokenize
from collections import Counter

from source_tree import ROOT, SOURCES, STUDIES

NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def lines_of_code(source):
    """Return how many lines of a module's text hold code.

    A string that stands alone as a statement is documentation. Any other string is code on each line that is not blank.
    """
    documentation = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    first = {text.lineno: text for text in documentation}
    code, end = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = first.get(token.start[0])
        if token.type == tokenize.STRING and text is not None and token.start[1] >= text.col_offset:
            end = text.end_lineno
        elif token.type not in NO_CODE and not (token.type == tokenize.STRING and token.start[0] <= end):
            code.update(range(token.start[0], token.end[0] + 1))
    lines = source.splitlines()
    return sum(bool(lines[number - 1].strip()) for number in code)


def package(path):
    """Return the package of a source module: a top-level one, or the studies."""
    folder = "root" if path.parent == ROOT else path.relative_to(ROOT).parts[0]
    return "studies" if path.is_relative_to(STUDIES) else folder


def by_package():
    """Return the lines of code per package. The studies are one."""
    lines = Counter()
    for path in SOURCES:
        lines[package(path)] += lines_of_code(path.read_text(encoding="utf-8"))
    return lines


def totals(lines):
    """Return the lines of the product and of the studies."""
    return {"product": lines.total() - lines["studies"], "studies": lines["studies"]}


def main():
    lines = by_package()
    print("lines of code")
    for name in sorted(set(lines) - {"studies"}, key=lambda name: -lines[name]):
        print(f"{name:12} {lines[name]:7,}")
    for name, count in totals(lines).items():
        print(f"{name:12} {count:7,}")


if __name__ == "__main__":
    main()
