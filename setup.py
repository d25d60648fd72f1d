"""What a build takes from the clone: the number of a development version, and where the project is hosted.

``__version__`` in ``__init__.py`` is the one place of the version. Between releases it ends in ``.dev0``; a build then
counts the commits and names the last one, so that two builds of different sources never share a number. The address of
the project is ``HPCDISPATCH_URL`` or git's remote ``origin``; without either, links of the README stay relative.
"""

import hashlib
import os
import re
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent
ASSIGNED = re.compile(r'(?<=^__version__ = ")[^"]+', re.MULTILINE)
#: What a source distribution keeps of the address, since it has no clone.
ADDRESS = HERE / "PROJECT_URL"


def git(*arguments):
    """Return what git prints, or an empty text outside of a clone."""
    try:
        told = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return told.stdout.strip() if (HERE / ".git").exists() else ""


def version():
    """Return the version: that of ``__init__.py``, and between releases one for each state of the sources."""
    base = ASSIGNED.search((HERE / "__init__.py").read_text(encoding="utf-8"))[0]
    count = git("rev-list", "--count", "HEAD")
    if not base.endswith(".dev0") or not count:
        return base
    changes = git("diff", "HEAD")
    dirty = f".d{hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes else ""
    return f"{base[:-1]}{count}+g{git('rev-parse', '--short=8', 'HEAD')}{dirty}"


def address():
    """Return where the project is hosted, without a slash at the end; empty if that is not known."""
    kept = ADDRESS.read_text(encoding="utf-8").strip() if ADDRESS.exists() else ""
    url = os.environ.get("HPCDISPATCH_URL") or git("remote", "get-url", "origin") or kept
    return url.removesuffix(".git").rstrip("/") if url.startswith("https://") else ""


def readme():
    """Return the README with links that work on a package index."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    if not address():
        return text
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:)", rf"\1{address()}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?!https?:|#)", rf"\1{address()}/blob/main/", text)


def stamp(file):
    """Write the version into a copy of ``__init__.py``."""
    text = file.read_text(encoding="utf-8")
    file.unlink()  # which may be a link to the original
    file.write_text(ASSIGNED.sub(VERSION, text), encoding="utf-8")


class StampedBuild(build_py):
    """Copies the sources with the number of the build."""

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if module[:2] != ("hpcdispatch", "setup")]

    def run(self):
        super().run()
        if not self.editable_mode:
            stamp(Path(self.build_lib) / "hpcdispatch" / "__init__.py")


class StampedSources(sdist):
    """Packs the sources with the number of the build and the address of the project."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        stamp(Path(base_dir) / "__init__.py")
        (Path(base_dir) / ADDRESS.name).write_text(address(), encoding="utf-8")


VERSION = version()
PAGES = {"Source": "", "Documentation": "/tree/main/docs", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
setup(
    version=VERSION,
    long_description=readme(),
    long_description_content_type="text/markdown",
    project_urls={name: address() + page for name, page in PAGES.items()} if address() else {},
    cmdclass={"build_py": StampedBuild, "sdist": StampedSources},
)
