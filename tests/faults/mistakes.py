"""Commands of the documentation with a mistake: ``PYTHONPATH=tests python -m faults.mistakes``.

A letter is missing in the name of a command, an option, a file, a dispatcher or a predictor, or in a unit. Each ends
with exit code 2 and one printable line.
"""

import re
import shlex
import shutil
from pathlib import Path

from test_printed_commands import PAGES, blocks

from faults.arguments import EXAMPLES, try_all

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


def without_a_letter(word, place=2):
    """Return a word without its first letter from a place on; as it is if there is none."""
    letter = next((at for at in range(place, len(word)) if word[at].isalpha()), len(word))
    return word[:letter] + word[letter + 1 :]


def mistaken(words):
    """Yield a command with one mistake at a time."""
    depth = 2 if words[0] in ("slurm", "workload") else 1
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        if place < depth and not word.startswith("-"):
            wrong = without_a_letter(word)
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            wrong = without_a_letter(name) + equals + value
        elif (EXAMPLES.parent / word).is_file():
            path = Path(word)
            wrong = str(path.with_name(path.name[1:]))
        elif before in PARTS:
            name = re.split("[:,@]", word)[0]
            wrong = without_a_letter(name, 1) + word[len(name) :]
        elif re.fullmatch(r"\d+[smhd]", word):
            wrong = word + "x"
        else:
            wrong = word
        if wrong != word:
            yield (*words[:place], wrong, *words[place + 1 :])


def cases(every=1):
    """Return the mistaken commands, every so many."""
    return [each for words in printed() for each in mistaken(words)][::every]


def prepare(folder):
    """Copy the samples."""
    shutil.copytree(EXAMPLES, folder / "examples")


if __name__ == "__main__":
    try_all(__doc__, cases, prepare, codes=(2,))
