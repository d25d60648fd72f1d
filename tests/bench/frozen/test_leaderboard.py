"""Scorecards of others: files that are edited, old, or twice there, and the page."""

import json
import shutil

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.frozen.evaluation import Evaluation, LeaderboardEntry
from hpcdispatch.bench.frozen.leaderboard import CARDS, PAGE, read_cards, tables_of, write_page
from hpcdispatch.bench.frozen.scorecards import file_name, read_card, scores_hash, write_card
from hpcdispatch.bench.frozen.suites import SUITES


@pytest.fixture(scope="module")
def written(suite, tmp_path_factory):
    """Write two good cards."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "small", suite)
        evaluation = Evaluation(suite, str(tmp_path_factory.mktemp("store")))
        for name in ("easy", "fcfs"):
            write_card(folder, evaluation.card(LeaderboardEntry(name, name, "walltime")))
    return folder


@pytest.fixture
def cards(written, small, tmp_path):
    """Return a folder with the cards that a test may change."""
    return shutil.copytree(written, tmp_path / "cards")


def changed(folder, rehash=True, **fields):
    """Write a card of easy with other fields."""
    card = json.loads((folder / "easy.json").read_text()) | {"name": "other"} | fields
    if rehash:
        card["scores_hash"] = scores_hash(card)
    path = folder / "zz.json"
    path.write_text(json.dumps(card))
    return path


def test_a_card_comes_back_as_it_was(cards, card_of):
    again = card_of("easy")
    found = read_card(cards / "easy.json")
    for apart in ("decision_times", "versions"):
        found.pop(apart), again.pop(apart)
    assert found == again


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"suite_version": 2}, "suite small: expected version 1 "),
        ({"suite_hash": "0" * 16}, "suite small: expected version 1 "),
        ({"suite": "huge"}, "zz.json: suite: expected one of quick, standard, small, got 'huge'"),
        ({"format": 9}, "zz.json: format: expected 1, got 9"),
        ({"tasks": []}, "zz.json: tasks: expected pool, sample, got"),
        ({"tasks": [{"name": "pool"}, {"name": "sample"}]}, "zz.json: task pool: expected metrics or an error"),
        ({"scores": 3}, "zz.json: field 'scores': expected a object, got 3"),
        ({"name": "fcfs"}, r"zz.json: name: 'fcfs' is the name of .*fcfs.json already; choose another name"),
    ],
)
def test_a_wrong_card_is_one_line_and_the_rest_stands(cards, fields, message):
    changed(cards, **fields)
    found, wrong = read_cards(cards)
    assert [card["name"] for card in found] == ["easy", "fcfs"]
    assert len(wrong) == 1
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(wrong[0])


def test_an_edited_score_is_found(cards):
    path = cards / "easy.json"
    path.write_text(path.read_text().replace('"ratio": 1.0', '"ratio": 0.5'))
    found, wrong = read_cards(cards)
    assert [card["name"] for card in found] == ["fcfs"]
    assert wrong == [f"{path}: scores_hash: the scores are not those that were written; run the benchmark again"]


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"format": NaN}', "\x00"])
def test_no_card_at_all_is_one_line(cards, text):
    (cards / "zz.json").write_text(text)
    found, wrong = read_cards(cards)
    assert len(found) == 2
    assert len(wrong) == 1
    assert "\n" not in wrong[0]


def test_the_page_has_a_row_for_each_card_and_what_was_left_out(cards):
    changed(cards, rehash=False, scores={"wait_mean": 0.1})
    page = write_page(cards, *read_cards(cards)).read_text()
    assert "## small 1, track walltimes" in page
    assert [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| ")][2:] == [
        [" easy ", " walltime ", " 1 "],
        [" fcfs ", " walltime ", " 2 "],
    ]
    assert "- zz.json: " in page
    assert write_page(cards, *read_cards(cards)).read_text() == page


@pytest.mark.parametrize(("make", "message"), [(False, "got none"), (True, "expected scorecards")])
def test_a_folder_without_cards(tmp_path, make, message):
    if make:
        (tmp_path / "x").mkdir()
    with pytest.raises(InputError, match=message):
        read_cards(tmp_path / "x")


def test_names_of_files():
    assert file_name("fcfs:order=sjf,commit=true, last2") == "fcfs-order-sjf-commit-true-last2.json"


def test_the_cards_of_the_repository_are_valid_and_their_page_is_up_to_date(tmp_path):
    cards, wrong = read_cards(CARDS)
    assert wrong == []
    assert {"fcfs", "easy", "easy-sjbf", "conservative"} <= {card["name"] for card in cards if card["suite"] == "quick"}
    folder = tmp_path / CARDS.name
    folder.mkdir()
    assert write_page(folder, cards, wrong).read_text() == (CARDS / PAGE).read_text()
    assert [len(table.columns) for table in tables_of(cards)]
