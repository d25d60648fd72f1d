"""Draw the pictures of the gallery from the code above each: ``python docs/_extensions/gallery_figures.py``."""

import re
from doctest import DocTestParser
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

PAGE = Path(__file__).parents[1] / "reference" / "gallery.md"


def draw():
    """Run the examples of the page in order, and save what was drawn before each picture."""
    names = {}
    for part in re.split(r"^(!\[.*\]\(.*\))$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE):
        picture = re.fullmatch(r"!\[.*\]\((.*)\)", part)
        if picture:
            figure = names["axes"].figure
            figure.savefig(PAGE.parent / picture[1], dpi=90)
            plt.close(figure)
        else:
            for example in DocTestParser().get_examples(part):
                exec(compile(example.source, str(PAGE), "exec"), names)


if __name__ == "__main__":
    draw()
