from dataclasses import dataclass

import pytest

from hpcdispatch.base import InputError, options_of
from hpcdispatch.dispatchers import (
    LEJF,
    RBS,
    SEJF,
    ATOptimal,
    Conservative,
    Hybrid,
    Rounds,
    TOptimal,
    create_dispatcher,
)
from hpcdispatch.dispatchers.backfilling.conservative import ConservativeOptions
from hpcdispatch.dispatchers.options import PlacementOption
from hpcdispatch.models import PlacementRule as Rule


@dataclass(frozen=True)
class Wide(PlacementOption):
    """Inherits an option with a type that has no name in this module."""

    width: int = 1


def names(part):
    return [option.name for option in part.declared_options()]


def test_options_come_from_a_dataclass_or_by_name_or_both():
    options = ConservativeOptions(compress="never")
    assert Conservative(options).options is options
    assert Conservative(options, placement="best-fit").options == ConservativeOptions("best-fit", "never")
    assert RBS(small=None).options.small is None


def test_the_options_of_a_base_class_need_nothing_of_the_module():
    assert [(option.name, option.annotation) for option in options_of(Wide)] == [("placement", Rule), ("width", int)]


@pytest.mark.parametrize(
    ("part", "known"),
    [
        (Conservative, "placement, compress"),
        (Rounds, "placement, batch, move"),
        (SEJF, "order, quantile, drain, placement"),
        (TOptimal, "over, backfill, n, gamma, checkpoint"),
    ],
)
def test_unknown_options_are_named_beside_the_known(part, known):
    with pytest.raises(TypeError, match=rf"unknown option 'speed'; known: {known}$"):
        part(speed=1)


def test_a_former_name_is_refused_with_the_new_one():
    with pytest.raises(TypeError, match=r"^Hybrid: unknown option 'order'; it is called 'first' now$"):
        Hybrid(order="longest")
    with pytest.raises(InputError, match=r"^dispatcher hybrid: unknown option 'order'; it is called 'first' now$"):
        create_dispatcher("hybrid:order=longest")


def test_options_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="Conservative: expected ConservativeOptions or options by name, got 'x'"):
        Conservative("x")


def test_what_makes_a_preset_may_not_be_set():
    assert (SEJF().options.first, LEJF().options.first) == ("shortest", "longest")
    with pytest.raises(TypeError, match="unknown option 'first'"):
        SEJF(first="longest")


def test_a_preset_takes_the_options_of_its_strategy():
    assert names(ATOptimal) == ["over", "backfill", "n", "rate"]
    assert ATOptimal(rate=0.5, over="easy").strategy.rate == 0.5
    with pytest.raises(ValueError, match="rate must be a number >= 0 and < 1, got 1"):
        ATOptimal(rate=1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("lookahead:iterations=1000000000", "iterations must be .* <= 100000 .each costs time in every decision., got"),
        ("cp:iterations=9000000000000000", "iterations must be .* <= 100000"),
        ("evict:over=toptimal:over=evict", "over must be another dispatcher than evict"),
        ("toptimal:over=" * 200 + "easy", "over: expected at most 8 dispatchers on one another, got"),
        ("easy:" + "x" * 5000, "expected at most 4,000 letters, got 5,005"),
    ],
)
def test_what_would_cost_without_bounds_is_refused(spec, message):
    with pytest.raises(InputError, match=message) as caught:
        create_dispatcher(spec)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("spec", "now"),
    [
        ("easy:promises=requests", "reserve_by"),
        ("pbs:promises=requests", "reserve_by"),
        ("lookahead:promises=requests", "reserve_by"),
        ("rbs:promise=anew", "move"),
        ("rbs:limit=3600", "max_walltime"),
    ],
)
def test_an_old_name_of_an_option_tells_the_new_one(spec, now):
    with pytest.raises(InputError, match=f"it is called '{now}' now$"):
        create_dispatcher(spec)
