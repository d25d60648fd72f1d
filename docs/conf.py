"""The site's configuration for Sphinx: ``make docs`` builds it, and it opens without a network or a server."""

import re
import sys
from pathlib import Path
from shutil import copyfile
from urllib.request import urlopen

import matplotlib as mpl

import hpcdispatch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
mpl.use("Agg")

project = "hpcdispatch"
author = "The hpcdispatch developers"
project_copyright = f"2026, {author}"
version = release = hpcdispatch.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "sphinx_click",
    "sphinx_copybutton",
    "parts",
]
exclude_patterns = ["_build/[hij]*", "**/.ipynb_checkpoints"]

# Notebooks are executed by `make notebooks`; the site shows the outputs that are committed.
nb_execution_mode = "off"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Quotes and ellipses become typographic, dashes do not: options are copied from the page.
smartquotes_action = "qe"
# Docstrings are checked by ruff. What docutils has against one of them is no reason to have no site.
suppress_warnings = ["docutils", "autodoc"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def inventories(sites, folder, seconds=3):
    """Return where the names of other projects are documented, as far as the network or an earlier build tells."""
    folder.mkdir(parents=True, exist_ok=True)
    reachable, mapping = True, {}
    for name, address in sites.items():
        file = folder / f"{name}.inv"
        try:
            if reachable and not file.exists():
                with urlopen(f"{address}objects.inv", timeout=seconds) as answer:
                    file.write_bytes(answer.read())
        except OSError as error:
            reachable = False
            print(f"make docs: {address} cannot be reached ({error}); names of other projects are not linked")
        if file.exists():
            mapping[name] = (address, str(file))
    return mapping


def studies(source, target):
    """Copy the studies' pages and their figures into the site, with links that lead within it."""
    target.mkdir(parents=True, exist_ok=True)
    for figure in source.glob("*.svg"):
        copyfile(figure, target / figure.name)
    for page in source.glob("*.md"):
        text = page.read_text(encoding="utf-8").replace("](../../../docs/", "](../../")
        (target / page.name).write_text(re.sub(r"\[([^\]]*)\]\(\.\./\.\./[^)]*\)", r"\1", text), encoding="utf-8")
    (target / "index.md").write_text("# Studies\n\n```{toctree}\n:glob:\n\n*\n```\n", encoding="utf-8")


def setup(app):
    """Let links to the studies' pages lead to their copies, and no line break within an interval."""
    here = re.compile(r"\]\(\.\./\.\./bench/studies/pages/")
    interval = re.compile(r"(?<= \()(-?[\d.,]+)-([\d.,]+)(?=\)[^|\n]*\|)")

    def mend(app, name, text):
        text[0] = interval.sub("\\1\N{NON-BREAKING HYPHEN}\\2", here.sub("](../_build/studies/", text[0]))

    app.connect("source-read", mend)


studies(HERE.parent / "bench" / "studies" / "pages", HERE / "_build" / "studies")

intersphinx_mapping = inventories(
    {
        "python": "https://docs.python.org/3/",
        "numpy": "https://numpy.org/doc/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "scipy": "https://docs.scipy.org/doc/scipy/",
        "matplotlib": "https://matplotlib.org/stable/",
    },
    HERE / "_build" / "inventories",
)

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"hpcdispatch {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
