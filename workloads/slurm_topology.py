"""Read the network of a Slurm site: the lines of ``topology.conf``, or of ``scontrol show topology``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base import InputError, shown
from ..base.printed import first_of

#: Name of the level of leaf switches, and of that of blocks.
SWITCH, BLOCK = "switch", "block"
#: The kinds of lines.
TOPOLOGY_LINES = ("switchname", "blockname", "blocksizes")
#: Most switches above each other. More are a circle.
_MOST_HEIGHT = 64


def read_topology(
    lines: Sequence[Mapping[str, str]], nodes: Sequence[str], notes: list[str], source: str
) -> dict[str, tuple[tuple[int, ...], ...]]:
    """Return the levels of a network: groups of places of nodes, by the name of their level.

    Leaf switches are the level ``switch``. The switches above them are ``switch2``, and so on. Blocks are the level
    ``block``. A node below no switch is a group of its own, since no other node can be reached from it.

    Parameters
    ----------
    lines
        The fields of each line in lower case, with the expanded names of ``nodes`` and ``switches``, one blank between.
        ``""`` has its place.
    nodes
        The names of the site's nodes.
    notes
        Receives a line for nodes below no switch, and for names that are no nodes of the site.
    source
        Of the lines, for notes.

    Raises
    ------
    InputError
        If a node is below two leaf switches, a switch is not defined, or switches form a circle.
    """
    places = {name: place for place, name in enumerate(nodes)}
    unknown: list[str] = []
    below: dict[str, set[int]] = {}
    parents: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    blocks: dict[str, set[int]] = {}
    for fields in lines:
        name = fields.get("switchname", fields.get("blockname", ""))
        members = fields.get("nodes", "").split()
        unknown += [each for each in members if each not in places]
        own_nodes = {places[each] for each in members if each in places}
        if "blockname" in fields:
            blocks[name] = own_nodes
        elif "switchname" in fields:
            switches = fields.get("switches", "").split()
            # scontrol prints all nodes below a switch. Those of its own have none of its switches between.
            below[name] = set() if switches else own_nodes
            parents[name] = switches
            where[name] = fields[""]
    levels: dict[str, dict[str, set[int]]] = {}
    if blocks:
        levels[BLOCK] = blocks
    heights: dict[str, int] = {}
    for name in parents:
        _climb(name, parents, below, heights, where)
    for name, height in heights.items():
        levels.setdefault(SWITCH if height == 1 else f"{SWITCH}{height}", {})[name] = below[name]
    if unknown:
        told = f"{len(unknown)} names are no nodes of the site, and do not count: {first_of(unknown)}"
        notes.append(f"{source}: topology: {told}")
    return {level: _groups(level, groups, nodes, notes, source) for level, groups in levels.items()}


def _climb(
    name: str,
    parents: Mapping[str, Sequence[str]],
    below: dict[str, set[int]],
    heights: dict[str, int],
    where: Mapping[str, str],
    depth: int = 0,
) -> int:
    """Set the height of a switch, and the nodes below it. A leaf switch has the height 1."""
    if name in heights:
        return heights[name]
    if depth > _MOST_HEIGHT:
        raise InputError(f"{where[name]}: switch {shown(name)} is above itself; each switch must be below others only")
    height = 1
    for child in parents[name]:
        if child not in parents:
            raise InputError(f"{where[name]}: switch {shown(name)}: expected defined switches, got {shown(child)}")
        height = max(height, 1 + _climb(child, parents, below, heights, where, depth + 1))
        below[name] |= below[child]
    heights[name] = height
    return height


def _groups(
    level: str, groups: Mapping[str, set[int]], nodes: Sequence[str], notes: list[str], source: str
) -> tuple[tuple[int, ...], ...]:
    """Return the groups of a level. Each node is in one of them."""
    owner: dict[int, str] = {}
    for name, members in groups.items():
        for node in sorted(members):
            if owner.setdefault(node, name) != name:
                raise InputError(
                    f"{source}: topology: node {nodes[node]} is below {owner[node]} and {name} at level {level}; "
                    "keep it below one"
                )
    alone = [node for node in range(len(nodes)) if node not in owner]
    if alone and len(alone) < len(nodes):
        told = f"{len(alone)} nodes are below no {level}, each is a group of its own"
        notes.append(f"{source}: topology: {told}: {first_of([nodes[node] for node in alone])}")
    connected = [tuple(sorted(members)) for members in groups.values() if members]
    return (*connected, *((node,) for node in alone))
