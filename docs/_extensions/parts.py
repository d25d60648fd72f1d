"""Directives that write what the code knows: the options of a dispatcher, predictor or generator."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from hpcdispatch.cli.commands.list_parts import KINDS, choices_and_default, meanings


def found(name):
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


def table(name):
    """Return the lines of a Markdown table with the options of `name`."""
    registry = found(name)
    said = meanings(registry, name)
    rows = [
        f"| `{option.name}` | {choices_and_default(option).replace('|', ' or ')} | {said.get(option.name, '')} |"
        for option in registry.options(name)
    ]
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


def setup(app):
    """Register the directives."""
    app.add_directive("options", Options)
    return {"parallel_read_safe": True}
