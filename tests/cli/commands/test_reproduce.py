"""``hpcdispatch reproduce`` where there are no studies."""

import sys


def test_an_installed_package_says_where_the_studies_are(invoke, monkeypatch):
    monkeypatch.setitem(sys.modules, "hpcdispatch.bench.studies", None)
    found = invoke("reproduce", "--list")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == (
        "hpcdispatch: error: reproduce: the studies are in the repository of hpcdispatch and not in the installed "
        "package; call it in a checkout (make .venv/installed, then .venv/bin/hpcdispatch reproduce)\n"
    )
