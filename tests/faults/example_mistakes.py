"""Python examples of the documentation with a mistake: ``PYTHONPATH=tests python -m faults.example_mistakes``.

One argument of a call of the product is wrong at a time. A letter is missing in a keyword, or in the name of a part or
of its option. A file does not exist, a unit has a letter too many, or the argument is of another type. All but the last
must be refused. What is raised is one line that says what was wrong, and no error of the code inside.
"""

# ruff: noqa: T201
import argparse
import ast
import contextlib
import doctest
import inspect
import io
import random
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from test_docs import PAGES, ROOT
from test_public_names import DESCRIBED

import hpcdispatch as hd
from faults.mistakes import without_a_letter
from hpcdispatch.base import InputError, installed
from hpcdispatch.dispatchers import registry as dispatchers
from hpcdispatch.predictors import registry as predictors
from hpcdispatch.workloads import GENERATORS

#: A name with or without options.
PART = re.compile(r"([a-z][\w-]*)(?::(.*))?", re.DOTALL)
DURATION = re.compile(r"\d+ ?(?:[smhd]|min)")
#: Values of another type than most arguments have. Functions and the classes of the first level name them.
OTHER_TYPES = ("object()", "3.7", "'many'", "None")
PRODUCT = "hpcdispatch"
#: Functions whose keywords or names are those of the user.
FREE = {"Machine.homogeneous", "Machine.pool", "register"}
#: Functions of the inner loops, whose arguments are checked nowhere.
INNER = {"choose", "count_slots", "pool_placement", "shift", "slots_of_each"}
KINDS = ("keyword", "name", "option", "unit", "file", "type")


@dataclass(frozen=True)
class Mistake:
    """A wrong argument.

    Attributes
    ----------
    kind
        What is wrong.
    code
        The whole statement.
    word
        What is wrong in it, which a message names.
    refused
        Whether the call must fail.
    """

    kind: str
    code: str
    word: str
    refused: bool


def examples():
    """Return the examples of each page and docstring by name: lists of statements."""
    parser = doctest.DocTestParser()
    found = {}
    for page in PAGES:
        found[page.relative_to(ROOT).as_posix()] = parser.get_examples(page.read_text(encoding="utf-8"))
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name, part in DESCRIBED.items():
        for test in finder.find(part, name, globs={}):
            found[test.name] = test.examples
    return {name: [each.source for each in own] for name, own in found.items() if own}


def is_ours(function):
    """Return whether a function, class or method is the product's."""
    module = getattr(function, "__module__", None) or getattr(type(function), "__module__", "")
    return module.split(".")[0] == PRODUCT


def calls(tree):
    """Yield the calls of a statement, without those in functions and classes that it defines."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            if isinstance(node, ast.Call):
                yield node
            yield from calls(node)


def target(call, names):
    """Return what a call calls, if that can be told without calling anything else; else ``None``."""
    if any(isinstance(node, ast.Call) for node in ast.walk(call.func)):
        return None
    try:
        return eval(compile(ast.Expression(call.func), "<example>", "eval"), names)
    except Exception:  # noqa: BLE001 - the example makes it later
        return None


def misspelt(text):
    """Yield a text with one name, option, file or unit of it wrong: what kind, the text, and the wrong word."""
    known = {*dispatchers.names(), *predictors.names(), *GENERATORS.names()}
    part = PART.fullmatch(text)
    if part and part[1] in known:
        word = without_a_letter(part[1], 1)
        if word not in known:
            yield "name", word + text[len(part[1]) :], word
        option = re.match(r"([a-z]\w{2,})=", part[2] or "")
        if option:
            wrong = without_a_letter(option[1], 1)
            yield "option", f"{part[1]}:{wrong}{part[2][len(option[1]) :]}", wrong
    elif DURATION.fullmatch(text):
        yield "unit", f"{text}x", f"{text}x"
    elif Path(text).suffix and Path(text).is_file():
        path = Path(text)
        yield "file", str(path.with_name(f"no-{path.name}")), f"no-{path.name}"


def mistakes(source, names):
    """Yield the mistakes of a statement, before which some names are known."""
    tree = ast.parse(source)
    for call in calls(tree):
        function = target(call, names)
        if function is None or not is_ours(function):
            continue
        free = getattr(function, "__qualname__", "") in FREE
        checked = inspect.isfunction(function) or getattr(function, "__name__", "") in hd.__all__
        others = OTHER_TYPES if checked and getattr(function, "__name__", "") not in INNER else ()
        for keyword in call.keywords:
            kept = keyword.arg
            wrong = without_a_letter(kept or "", 1)
            if len(wrong) > 1 and not free and wrong not in [each.arg for each in call.keywords]:
                keyword.arg = wrong
                yield Mistake("keyword", ast.unparse(tree), wrong, True)
                keyword.arg = kept
        texts = not free
        for place, value in enumerate(call.args):
            for kind, wrong, word in wrong_values(value, texts, others):
                call.args[place] = wrong
                yield Mistake(kind, ast.unparse(tree), word, kind != "type")
            call.args[place] = value
        for keyword in [each for each in call.keywords if each.arg]:
            value = keyword.value
            for kind, wrong, word in wrong_values(value, texts, others):
                keyword.value = wrong
                yield Mistake(kind, ast.unparse(tree), word, kind != "type")
            keyword.value = value


def wrong_values(value, texts, others):
    """Yield what is wrong, the wrong value and its word for each mistake in an argument."""
    if texts and isinstance(value, ast.Constant) and isinstance(value.value, str):
        for kind, wrong, word in misspelt(value.value):
            yield kind, ast.Constant(wrong), word
    for other in others:
        yield "type", ast.parse(other, mode="eval").body, other


def finding(mistake, names):
    """Run a statement with a mistake. Return what is wrong with its error, empty if nothing."""
    try:
        run(mistake.code, dict(names))
    except InputError as error:
        return _unclear(mistake, str(error))
    except TypeError as error:
        if mistake.kind == "keyword" and mistake.word in str(error):
            return ""
        return _inside(error)
    except Exception as error:  # noqa: BLE001 - what the example raises is looked at
        return _inside(error)
    return f"{mistake.word!r} is taken" if mistake.refused else ""


def _unclear(mistake, message):
    if "\n" in message:
        return f"{message.count(chr(10)) + 1} lines: {message[:200]}"
    return "" if not mistake.refused or mistake.word in message else f"{mistake.word!r} is not named: {message[:200]}"


def _inside(error):
    """Return the error, unless the product raises it on purpose or it is raised by the example itself."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if last.filename == "<example>":
        return ""
    one_line = "\n" not in str(error) and str(error)
    on_purpose = isinstance(error, OSError) or (last.line or "").startswith("raise ")
    if one_line and isinstance(error, ValueError | TypeError | OSError) and on_purpose:
        return ""
    return f"{type(error).__name__}: {str(error)[:160]!r} at {last.filename}:{last.lineno}: {last.line}"


def run(source, names):
    """Run a statement without its output."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        exec(compile(source, "<example>", "exec"), names)
    plt.close("all")


def try_group(sources, rng, share, kinds=KINDS):
    """Run the statements of a page or docstring, and a share of the mistakes of each. Yield mistake and finding."""
    names = {"__name__": "__main__"}
    for source in sources:
        with contextlib.suppress(SyntaxError):
            for mistake in mistakes(source, names):
                if mistake.kind in kinds and rng.random() < share:
                    yield mistake, finding(mistake, names)
        try:
            run(source, names)
        except Exception:  # noqa: BLE001 - examples that show an error
            continue


@contextlib.contextmanager
def a_folder():
    """Work in a folder with the samples. What an example registers ends with it."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        shutil.copytree(ROOT / "examples", Path(name) / "examples")
        patch.chdir(name)
        patch.setattr(installed, "_OF_SCRIPT", {})
        yield


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--share", type=float, default=1.0, metavar="SHARE")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    given = parser.parse_args()
    tried = findings = 0
    for name, sources in examples().items():
        if given.only not in name:
            continue
        with a_folder():
            for mistake, found in try_group(sources, random.Random(f"{given.first} {name}"), given.share, given.kinds):
                tried += 1
                if found:
                    findings += 1
                    print(f"{name}: {mistake.kind}: {mistake.code[:200]!r}: {found}", flush=True)
    print(f"{tried:,} mistakes, {findings} findings")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
