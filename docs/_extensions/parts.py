"""What pages write with the code's help: options and presets of parts, and formulas without a network."""

from importlib import import_module

from docutils import nodes
from docutils.statemachine import StringList
from latex2mathml.converter import convert
from sphinx.util.docutils import SphinxDirective

from hpcdispatch.cli.commands.list_parts import KINDS, choices_and_default, meanings
from hpcdispatch.dispatchers.options import Preset
from hpcdispatch.dispatchers.reservations.sequence_presets import SequencePreset


def registry_of(name):
    """Return the registry that has `name`.

    Raises
    ------
    ValueError
        If none has.
    """
    for registry in KINDS.values():
        if name in registry.names():
            return registry
    raise ValueError(f"expected the name of a registered part, got {name!r}; see 'hpcdispatch list'")


def value(option):
    """Return the default of an option and its choices, without its name."""
    return choices_and_default(option).partition("=")[2].replace("|", " or ")


def table(name):
    """Return the lines of a Markdown table with the options of `name`."""
    registry = registry_of(name)
    said = meanings(registry, name)
    rows = [f"| `{option.name}` | {value(option)} | {said.get(option.name, '')} |" for option in registry.options(name)]
    return ["| option | default | meaning |", "|---|---|---|", *rows] if rows else ["It has no options."]


class Options(SphinxDirective):
    """``{options} NAME``: a table of the options of a registered part."""

    required_arguments = 1

    def run(self):
        """Return the table's nodes."""
        node = nodes.container()
        try:
            lines = table(self.arguments[0])
        except ValueError as error:
            raise self.error(str(error)) from error
        self.state.nested_parse(StringList(lines, source="options"), 0, node)
        return node.children


class Presets(SphinxDirective):
    """``{presets} MODULE``: an entry for each configured class of a module, with what is set in it."""

    required_arguments = 1

    def run(self):
        """Return the entries' nodes."""
        module = import_module(self.arguments[0])
        lines = []
        for name in module.__all__:
            part = getattr(module, name)
            if not isinstance(part, Preset | SequencePreset):
                continue
            lines += [f".. py:function:: {self.arguments[0]}.{name}(**options)", "", f"   {part.summary}"]
            fixed = sorted(getattr(part, "fixed", ()))
            if fixed:
                lines += ["", f"   It sets {', '.join(f'``{option}``' for option in fixed)}."]
            lines.append("")
        node = nodes.container()
        self.state.nested_parse(StringList(["```{eval-rst}", *lines, "```"], source="presets"), 0, node)
        return node.children


def inline_formula(translator, node):
    """Write a formula within a line as MathML."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_formula(translator, node):
    """Write a formula in a line of its own as MathML."""
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """Register the directive, and MathML for formulas."""
    app.add_directive("options", Options)
    app.add_directive("presets", Presets)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    return {"parallel_read_safe": True}
