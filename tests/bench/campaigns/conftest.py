"""A campaign that tests disturb, and what an undisturbed run of it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_cells import deterministic
from small_campaign import TEXT

from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign


@pytest.fixture(scope="module")
def campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Return the file of a campaign and the content of its store. Its workload has the module's JOBS."""
    folder = tmp_path_factory.mktemp("campaign")
    file = folder / "campaign.toml"
    file.write_text(TEXT.format(jobs=request.module.JOBS))
    store = Store(folder / "store")
    outcome = run_campaign(plan_campaign(file), store)
    assert len(outcome.done) == 24
    return file, deterministic(store)
