"""Put one fault into the code at a time, and see whether the tests find it: ``PYTHONPATH=tests python -m mutants``.

A fault changes a comparison, a sign, a number, a condition or a choice at one place of `models`, `dispatchers`,
`simulation` or `workloads`. The places are drawn with a fixed seed. The code is changed in a copy of the repository.
There the tests of the changed module run first, then those that import it, then the others, each time until one fails.
A test that needs more than :data:`OF_A_TEST` finds the mutant as well. A stage that is cut by its own limit finds none.
A test that fails is run once more without the mutant. If it fails then, it finds none, and is left out from there on.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic, process_time, sleep

import psutil
import pytest
from source_tree import ROOT, TESTS, dotted, files, short, used_modules

FOLDERS = ("models", "dispatchers", "simulation", "workloads")
COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*"}
CHOICES = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Most CPU time of one test with a mutant, seconds. Compiling what the mutant changes is in it.
OF_A_TEST = 180
#: Names, in the environment of a run of the tests with a mutant, the file that says when the present test began.
BOUNDED = "HPCDISPATCH_TESTS_BOUNDED"


@dataclass(frozen=True)
class Mutant:
    """A change of one expression of a module."""

    path: Path
    line: int
    old: str
    new: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{short(self.path)}:{self.line}: {self.old} -> {self.new}"


def changes(node):
    """Return the texts that may stand for an expression in its place, as syntax trees print them."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARED:
        other = COMPARED[type(node.ops[0])]
        yield f"{ast.unparse(node.left)} {other} {ast.unparse(node.comparators[0])}"
    elif isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        yield f"({ast.unparse(node.left)}) {SIGNS[type(node.op)]} ({ast.unparse(node.right)})"
    elif isinstance(node, ast.BoolOp):
        word = "or" if isinstance(node.op, ast.And) else "and"
        yield f" {word} ".join(f"({ast.unparse(value)})" for value in node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield ast.unparse(node.operand)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHOICES:
        yield ast.unparse(ast.Call(ast.Name(CHOICES[node.func.id]), node.args, node.keywords))
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield str(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield str(not node.value)


def mutants_of(path, text):
    """Return the mutants of a module: of its functions, without annotations, decorators and assertions."""
    lines = text.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line.encode()))
    source = text.encode()

    def offset(line, column):
        return begins[line - 1] + column

    def expressions(node):
        if isinstance(node, (ast.Assert, ast.Raise, ast.arguments, ast.JoinedStr)):
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield child
                    yield from expressions(child)

    found = []
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for node in expressions(function):
            for new in changes(node):
                start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)
                found.append(Mutant(path, node.lineno, source[start:end].decode(), f"({new})", start, end))
    return sorted(set(found), key=lambda one: (one.start, one.end, one.new))


def drawn(count, seed):
    """Return so many mutants. Each module has a chance by its number of places."""
    every = [one for path in files(*FOLDERS) for one in mutants_of(path, path.read_text(encoding="utf-8"))]
    return Random(seed).sample(every, count)


def stages(path):
    """Return the groups of test files for a module: its own, those that import it, and all others."""
    tests = [test for test in TESTS if test.name.startswith("test_")]
    folder = ROOT / "tests" / path.parent.relative_to(ROOT)
    words = set(re.findall(r"[a-z]+", path.stem))
    own = [test for test in tests if test.parent == folder and words & set(re.findall(r"[a-z]+", test.stem))]
    package = dotted(path.parent / "__init__.py")
    near = [test for test in tests if test.parent == folder or used_modules(test) & {dotted(path), package}]
    groups = [own, [test for test in near if test not in own]]
    groups.append([test for test in tests if test not in own and test not in near])
    return groups


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Write down when a test begins with a mutant."""
    if BOUNDED in os.environ:
        Path(os.environ[BOUNDED]).write_text(str(process_time()))


def run(copy, tests, seconds, left_out=()):
    """Run tests in the copy until one fails. Return what it says: ``None`` if none does, or the name of the test."""
    if not tests:
        return None
    known = os.environ | {"PYTHONPATH": f"{copy.parent}:{copy / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-xvv", "-p", "mutants", "-p", "no:cacheprovider", "--no-header"]
    words += [*(f"--deselect={test}" for test in left_out), *map(str, tests)]
    with tempfile.TemporaryDirectory() as name:
        begun, printed = Path(name) / "begun", Path(name) / "printed"
        begun.write_text("0")
        with printed.open("w") as file:
            process = subprocess.Popen(words, cwd=copy, env=known | {BOUNDED: str(begun)}, stdout=file, stderr=file)
        ended = watched(process, begun, seconds)
        text = printed.read_text(encoding="utf-8", errors="replace")
    last = text.rpartition("\n")[2].strip()
    if ended == "test":
        return f"{last}: no end within {OF_A_TEST} s of CPU time"
    if ended == "stage":
        print(f"    cut after {seconds} s of CPU time, in {last}", flush=True)
        return None
    if process.returncode in (0, 5):
        return None
    failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", text, re.MULTILINE)
    return failed[0] if failed else f"exit {process.returncode}, {last}"


def watched(process, begun, seconds):
    """Wait for the end of a run of the tests, and bring it about once it takes too long. Return what took too long.

    This is the present test, the whole stage, or nothing. A limit or a timer of the system would make the clock of CPU
    time coarse, which some tests read.
    """
    known = psutil.Process(process.pid)
    while process.poll() is None:
        sleep(0.5)
        try:
            used = sum(known.cpu_times()[:2])
            of_test = used - float(begun.read_text() or used)
        except psutil.Error:
            continue
        if of_test > OF_A_TEST or used > seconds:
            process.kill()
            process.wait()
            return "test" if of_test > OF_A_TEST else "stage"
    return ""


def judged(mutant, copy, seconds, most, failing):
    """Return which test finds a mutant, or ``None``. Tests that fail without it find none, and join `failing`."""
    target = copy / mutant.path.relative_to(ROOT)
    kept = target.read_bytes()
    for tests in stages(mutant.path)[:most]:
        named = [test.relative_to(ROOT) for test in tests]
        while True:
            with replaced(target, kept[: mutant.start] + mutant.new.encode() + kept[mutant.end :]):
                found = run(copy, named, seconds, failing)
            if found is None:
                break
            test = re.search(r"tests/\S+\.py::.*?(?=: no end within|$)", found)
            if test is None or run(copy, [test[0]], seconds) is None:
                return found
            print(f"    {test[0]} fails without a mutant, too", flush=True)
            failing.append(test[0])
    return None


@contextmanager
def replaced(path, text):
    """Replace the bytes of a file for a while. Afterwards it has its time again, so that its byte code is kept."""
    kept = path.read_bytes()
    stat = path.stat()
    path.write_bytes(text)
    try:
        yield
    finally:
        path.write_bytes(kept)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30, help="number of mutants")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="begin with the Nth")
    parser.add_argument("--only", type=int, default=0, metavar="N", help="the Nth alone")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--stages", type=int, default=3, help="1: own tests; 2: what imports it, too; 3: all")
    parser.add_argument("--seconds", type=int, default=900, help="most CPU seconds of a stage")
    given = parser.parse_args()
    chosen = list(enumerate(drawn(given.count, given.seed), 1))[given.first - 1 :]
    chosen = [chosen[given.only - given.first]] if given.only else chosen
    if given.list:
        print(*(f"{number:3} {mutant}" for number, mutant in chosen), sep="\n")
        return
    survivors = 0
    failing = []
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "hpcdispatch"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv*", ".git", ".*cache", "results", ".typecheck"))
        for number, mutant in chosen:
            began = monotonic()
            found = judged(mutant, copy, given.seconds, given.stages, failing)
            survivors += found is None
            print(f"{number:3} {mutant}\n    {found or 'survives'}, {monotonic() - began:.0f} s", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survive")


if __name__ == "__main__":
    main()
