"""The options by name that type checkers know are those of the dataclasses."""

import importlib
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from hpcdispatch import dispatchers
from hpcdispatch.dispatchers.options import Configured, Preset

CLASSES = [
    each
    for name in dispatchers.__all__
    if isinstance(each := getattr(dispatchers, name), type) and issubclass(each, Configured)
]


def given_of(kind):
    """Return the options by name that type checkers know, beside the dataclass."""
    module = importlib.import_module(kind.Options.__module__)
    return getattr(module, kind.Options.__name__.removesuffix("Options") + "Given")


@pytest.mark.parametrize("kind", CLASSES)
def test_options_by_name_are_those_of_the_dataclass(kind):
    settable = {each.name for each in fields(kind.Options) if each.init}
    hints = get_type_hints(kind.Options)
    assert get_type_hints(given_of(kind)) == {name: hints[name] for name in hints if name in settable}
    assert not given_of(kind).__required_keys__


@pytest.mark.parametrize("kind", [each for each in CLASSES if "__init__" in vars(each)])
def test_constructors_take_them(kind):
    assert get_args(get_type_hints(kind.__init__)["given"]) == (given_of(kind),)


def test_presets_take_options_by_name_alone():
    assert isinstance(dispatchers.HCP3, Preset)
    with pytest.raises(TypeError, match="ConstraintProgramming: expected options by name, got 50"):
        dispatchers.HCP3(50)
