"""Commands of the documentation with a mistake: ``PYTHONPATH=tests python -m faults.mistakes``.

A letter is missing in the name of a command, an option, a file, a dispatcher or a predictor, or in a unit. Each ends
with exit code 2 and one printable line.
"""

# ruff: noqa: T201
import argparse
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from test_printed_commands import PAGES, blocks

from faults.arguments import EXAMPLES, finding

#: Options with names of parts.
PARTS = {"--dispatcher", "--dispatchers", "--predictor", "--predictors"}
#: Ends of a command in a line of the shell.
ENDS = re.compile(r"[|;&]+|\d?[<>]+")


def printed():
    """Return the words of each command of hpcdispatch that the documentation prints, without its name."""
    found = {}
    for page in PAGES:
        for block, _ in blocks(page):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if not words or words[0] != "hpcdispatch" or any("$" in word for word in words):
                    continue
                end = next((place for place, word in enumerate(words) if ENDS.fullmatch(word)), len(words))
                found[tuple(words[1:end])] = None
    return list(found)


def without_a_letter(word, places=range(2, 99)):
    """Yield a word without one of its letters."""
    for place in places:
        if place < len(word) and word[place].isalpha():
            yield word[:place] + word[place + 1 :]


def mistaken(words):
    """Yield a command with one mistake at a time."""
    depth = 2 if words[0] in ("slurm", "workload") else 1
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if place < depth and not word.startswith("-"):
            wrong = next(without_a_letter(word), None)
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            wrong = next(without_a_letter(name), "") + equals + value
        elif (EXAMPLES.parent / word).is_file():
            path = Path(word)
            wrong = str(path.with_name(path.name[1:]))
        elif before in PARTS:
            wrong = next(without_a_letter(word, range(1, len(re.split("[:,@]", word)[0]))), None)
        elif re.fullmatch(r"\d+[smhd]", word):
            wrong = word + "x"
        else:
            wrong = None
        if wrong and wrong != word:
            yield (*words[:place], wrong, *words[place + 1 :])


def cases(every=1):
    """Return the mistaken commands, every so many."""
    return [each for words in printed() for each in mistaken(words)][::every]


def prepare(folder):
    """Copy the samples."""
    shutil.copytree(EXAMPLES, folder / "examples")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    given = parser.parse_args()
    chosen = [words for words in cases(given.every) if given.only in " ".join(words)]
    findings = 0
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for words in chosen:
            if found := finding(words, Path(name), codes=(2,)):
                findings += 1
                print(f"{shlex.join(words)}: {found}", flush=True)
    print(f"{len(chosen):,} calls, {findings} findings")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
