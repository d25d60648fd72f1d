"""Machines: nodes with integer amounts of named resources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base import InputError, IntArray, check_whole, count_slots, shown
from ..base.checks import LARGEST, MOST_NODES
from ..base.files import read_json
from .gpu_slices import slice_amounts
from .levels import by_size, labels_of, read_levels
from .machine_rules import Limit, MachineRules, Outage, Power, Reservation, nodes_of

#: Prefix of the resources of partitions.
PARTITION = "partition/"


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A machine as a matrix of capacities.

    Attributes
    ----------
    resources
        Names of the resources, such as ``("core", "mem", "gpu")``.
    capacity
        Integer array of shape (nodes, resources), read-only.
    name
        Of the machine.
    equivalence
        Amounts for one processor of a trace, such as ``{"core": 1}`` (the default).
    reservations, outages, licences, limits, power
        Its rules for every dispatcher, see :class:`.MachineRules`; none by default.
    levels
        Groups of nodes by the name of their level, as in ``{"rack": ((0, 1), (2, 3))}``. Each node is in one group of
        each level. Given as sequences of indices, as texts such as ``"0-15;20"``, or as a whole number: groups of so
        many consecutive nodes.

    Raises
    ------
    ValueError
        If the array does not fit the names, an amount is negative, or a node has no resources. Also if a rule does not
        fit the machine, or a level misses a node or has it twice.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> machine = hd.Machine(("core", "gpu"), [[16, 0], [16, 0], [32, 4]], levels={"rack": ("0-1", "2")})
    >>> machine.capacity.sum(axis=0)
    array([64,  4])
    >>> machine.levels["rack"]
    ((0, 1), (2,))
    """

    resources: tuple[str, ...]
    capacity: IntArray
    name: str = ""
    equivalence: Mapping[str, int] = field(default_factory=lambda: {"core": 1})
    reservations: tuple[Reservation, ...] = ()
    outages: tuple[Outage, ...] = ()
    licences: Mapping[str, int] = field(default_factory=dict)
    limits: tuple[Limit, ...] = ()
    power: Power | None = None
    levels: Mapping[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    #: Whether jobs ask for groups of a level, or have unequal slots. ``None``: if it has levels. Set by a simulation.
    _layouts: bool | None = field(default=None, repr=False)
    rules: MachineRules = field(default_factory=MachineRules, init=False, repr=False)
    #: Names of the levels, and the group of each node. The level with the smallest groups is first.
    level_names: tuple[str, ...] = field(default=(), init=False, repr=False)
    labels: IntArray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64), init=False, repr=False)
    _slots: dict[tuple[int, ...], int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.resources, Iterable):
            raise InputError(f"machine: resources must be names, got {shown(self.resources)}")
        names = tuple(self.resources)
        received = np.asarray(self.capacity)
        if received.ndim != 2 or received.shape[1] != len(names) or not received.size:
            raise ValueError(f"machine: capacity must have shape (nodes, {len(names)}), got {received.shape}")
        if not np.issubdtype(received.dtype, np.integer):
            raise ValueError(f"machine: capacity must be integers, got {received.dtype}")
        if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"machine: resources must be texts that differ, got {shown(names)}")
        capacity = np.array(received, dtype=np.int64, order="C")
        if (capacity < 0).any() or not capacity.any(axis=1).all():
            node = int(np.flatnonzero((capacity < 0).any(axis=1) | ~capacity.any(axis=1))[0])
            raise ValueError(f"machine: node {node} must have amounts >= 0, one of them > 0, got {capacity[node]}")
        most = float(capacity.sum(axis=0, dtype=np.float64).max())
        if most > LARGEST or len(capacity) > MOST_NODES:
            raise ValueError(
                f"machine: expected at most {MOST_NODES:,} nodes and {LARGEST:,} of a resource on them together, "
                f"got {len(capacity):,} nodes and {most:.17g}"
            )
        capacity.flags.writeable = False
        object.__setattr__(self, "resources", names)
        object.__setattr__(self, "capacity", capacity)
        levels = read_levels(self.levels, len(capacity))
        object.__setattr__(self, "levels", levels)
        if levels:
            object.__setattr__(self, "level_names", by_size(levels))
            object.__setattr__(self, "labels", labels_of(levels, len(capacity)))
        layouts = bool(levels) if self._layouts is None else self._layouts
        rules = MachineRules(self.reservations, self.outages, self.licences, self.limits, self.power, layouts)
        rules.check(names, capacity)
        for name in ("reservations", "outages", "licences", "limits"):
            object.__setattr__(self, name, getattr(rules, name))
        object.__setattr__(self, "rules", rules)

    def __eq__(self, other: object) -> bool:
        """Compare resources, capacities, rules and levels; the name does not count."""
        if not isinstance(other, Machine):
            return NotImplemented
        same = self.resources == other.resources and np.array_equal(self.capacity, other.capacity)
        return same and self.rules == other.rules and self.levels == other.levels

    def __deepcopy__(self, memo: dict[int, Any]) -> Machine:
        """Return itself: it never changes, and its identity is used."""
        return self

    def __hash__(self) -> int:
        """Hash what equality compares."""
        return hash((self.resources, self.capacity.tobytes()))

    @classmethod
    def homogeneous(
        cls, nodes: int, *, name: str = "", levels: Mapping[str, Any] | None = None, **per_node: int
    ) -> Machine:
        """Return `nodes` equal nodes, as in ``Machine.homogeneous(64, core=16, levels={"rack": 16})``."""
        check_whole("machine: nodes", nodes, 1, MOST_NODES)
        if not per_node:
            raise ValueError("machine: at least one resource must be given, such as core=16")
        amounts = [check_whole(f"machine: {name}", amount, 0) for name, amount in per_node.items()]
        row = np.array([amounts])
        return cls(tuple(per_node), np.repeat(row, nodes, axis=0), name=name, levels=levels or {})

    def partitioned(self, partitions: Mapping[str, Any]) -> Machine:
        """Return the machine with groups of nodes for the jobs of a partition or a virtual cluster alone.

        Each is a resource ``partition/NAME`` on its nodes. A slot of its jobs asks for at least one unit. There are as
        many on a node as of its largest resource. Readers ask for one per processor if a record has that partition, or
        that queue.

        Parameters
        ----------
        partitions
            The nodes of each by its name, as indices or as a text such as ``"0-15;20"``.

        Raises
        ------
        ValueError
            If a name is no text, is taken, or a node is not of the machine.
        """
        if not isinstance(partitions, Mapping):
            raise ValueError(f"machine: partitions must be nodes by name, got {shown(partitions)}")
        columns = []
        names = []
        for name, nodes in partitions.items():
            where = f"machine: partition {name}"
            if not isinstance(name, str) or not name.strip() or not name.isprintable():
                raise ValueError(f"machine: partitions must have names such as vc1, got {shown(name)}")
            if f"{PARTITION}{name}" in self.resources:
                raise ValueError(f"{where}: the machine has it already; give it another name")
            members = np.array(nodes_of(where, nodes if isinstance(nodes, str) else tuple(nodes)))
            if members[-1] >= self.nodes:
                raise ValueError(f"{where}: nodes must lie in 0..{self.nodes - 1}, got {members[-1]}")
            units = np.zeros(self.nodes, dtype=np.int64)
            units[members] = self.capacity[members].max(axis=1)
            columns.append(units)
            names.append(f"{PARTITION}{name}")
        if not names:
            return self
        return replace(self, resources=(*self.resources, *names), capacity=np.column_stack((self.capacity, *columns)))

    def sliced(self, nodes: Any, gpu: str, gpus: Any) -> Machine:
        """Return the machine with some GPUs of nodes sliced into instances (MIG).

        A GPU is whole, or it is sliced into profiles that fit its size. A sliced one is no unit of ``gpu`` any more.
        Its slices are amounts such as ``gpu/1g.5gb``.

        Parameters
        ----------
        nodes
            The nodes, as indices or as a text such as ``"0-15;20"`` or ``"all"``.
        gpu
            The model, such as ``"a100-40gb"``, see :data:`~hpcdispatch.workloads.gpu_slices.PROFILES`.
        gpus
            One entry per sliced GPU of each node: profiles such as ``"7x1g.5gb"`` or ``["3g.20gb", "3g.20gb"]``.

        Raises
        ------
        ValueError
            If the GPU has no such profile, is too small for all of them, or a node has too few GPUs.
        """
        where = f"machine: slices of {shown(nodes)[:40]}"
        every = tuple(range(self.nodes))
        members = every if nodes == "all" else nodes_of(where, nodes if isinstance(nodes, str) else tuple(nodes))
        if members[-1] >= self.nodes:
            raise ValueError(f"{where}: nodes must lie in 0..{self.nodes - 1}, got {members[-1]}")
        taken, amounts = slice_amounts(where, gpu, gpus)
        names = list(self.resources)
        columns = {name: self.capacity[:, place].copy() for place, name in enumerate(names)}
        whole = columns.get("gpu", np.zeros(self.nodes, dtype=np.int64))
        short = next((node for node in members if whole[node] < taken), None)
        if short is not None:
            raise ValueError(
                f"{where}: slices {taken} GPUs of each node, and node {short} has {whole[short]} whole ones"
            )
        whole[list(members)] -= taken
        for name, amount in amounts.items():
            column = columns.setdefault(name, np.zeros(self.nodes, dtype=np.int64))
            column[list(members)] += amount
        return replace(self, resources=tuple(columns), capacity=np.column_stack(list(columns.values())))

    @classmethod
    def pool(cls, cores: int, *, name: str = "") -> Machine:
        """Return one node of `cores` cores, for traces with only a number of processors per job."""
        return cls.homogeneous(1, name=name, core=cores)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Machine:
        """Read an AccaSim system file.

        The file is a JSON object. ``groups`` maps group names to the resources of one node. ``resources`` maps group
        names to numbers of nodes, in this order. ``equivalence`` is optional: amounts for one processor of a trace, as
        in ``{"processor": {"core": 1}}``. The rules of the machine are optional, too: ``reservations``, ``outages`` and
        ``limits`` (lists of objects), ``licences`` and ``power`` (objects). So are its ``levels``, as in ``{"rack":
        ["0-15", "16-31"]}``, and its ``partitions``, see :meth:`partitioned`, and its ``slices``, a list such as
        ``[{"nodes": "0-3", "gpu": "a100-40gb", "gpus": ["7x1g.5gb"]}]``, see :meth:`sliced`.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        InputError
            If it is no such JSON object. The message has the place and the expected value.
        """
        path = Path(path)
        try:
            data = read_json(path, "an AccaSim system file in JSON")
        except FileNotFoundError:
            raise FileNotFoundError(f"{path}: no such machine file") from None
        return _from_accasim(data, path)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.capacity.shape[0])

    @property
    def primary(self) -> int:
        """Index of the resource that counts work: ``core`` if there is one, else the first."""
        return self.resources.index("core") if "core" in self.resources else 0

    def demand(self, per_node: Mapping[str, int]) -> tuple[int, ...]:
        """Return the amounts of `per_node` in the order of :attr:`resources`.

        Raises
        ------
        InputError
            If the machine lacks a resource of `per_node`.
        """
        unknown = [name for name, amount in per_node.items() if amount and name not in self.resources]
        if unknown:
            raise InputError(f"unknown resource {unknown[0]!r}; the machine has: {', '.join(self.resources)}")
        return tuple(int(per_node.get(name, 0)) for name in self.resources)

    def slots(self, per_node: Mapping[str, int]) -> int:
        """Return the number of slots with `per_node` on the empty machine."""
        return self.slots_of(self.demand(per_node))

    def slots_of(self, demand: tuple[int, ...]) -> int:
        """Return the number of slots with a demand on the empty machine. It is counted once per demand."""
        slots = self._slots.get(demand)
        if slots is None:
            slots = self._slots[demand] = int(count_slots(self.capacity, demand).sum()) if any(demand) else 0
        return slots

    def describe(self) -> str:
        """Return a line such as ``64 nodes (core 1024, mem 1024, gpu 64)``."""
        totals = ", ".join(
            f"{name} {total}" for name, total in zip(self.resources, self.capacity.sum(axis=0), strict=True)
        )
        totals += "".join(f"; {name} {len(self.levels[name])}" for name in self.level_names)
        return f"{self.nodes} node{'s' if self.nodes > 1 else ''} ({totals})"


def with_rules(machine: Machine, rules: MachineRules) -> Machine:
    """Return a machine with other rules. Raise ``ValueError`` if they do not fit it."""
    given = {
        each.name: getattr(rules, each.name) for each in fields(MachineRules) if each.init and each.name != "layouts"
    }
    return replace(machine, **given) if rules or machine.rules else machine


def announced(machine: Machine) -> Machine:
    """Return the machine that dispatchers see: without unannounced outages."""
    if all(outage.announced for outage in machine.outages):
        return machine
    return replace(machine, outages=tuple(outage for outage in machine.outages if outage.announced))


def _from_accasim(data: Any, path: Path) -> Machine:
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a JSON object with 'groups' and 'resources', got {type(data).__name__}")
    for key in ("groups", "resources"):
        if not isinstance(data.get(key), dict) or not data[key]:
            raise InputError(f"{path}: field {key!r}: expected a non-empty object, got {shown(data.get(key))}")
    groups = data["groups"]
    counts = data["resources"]
    names: list[str] = []
    for group, amounts in groups.items():
        if not isinstance(amounts, dict) or not amounts:
            raise InputError(
                f"{path}: group {group!r}: expected resources such as {{'core': 16}}, got {shown(amounts)}"
            )
        for name, amount in amounts.items():
            _whole(path, f"group {group!r}, resource {name!r}", amount, 0)
        names += [name for name in amounts if name not in names]
    rows: list[list[int]] = []
    for group, count in counts.items():
        if group not in groups:
            raise InputError(f"{path}: field 'resources': unknown group {group!r}; known: {', '.join(groups)}")
        _whole(path, f"field 'resources', group {group!r}", count, 0, MOST_NODES - len(rows))
        rows += [[groups[group].get(name, 0) for name in names]] * count
    if not rows:
        raise InputError(f"{path}: field 'resources': expected at least one node, got none")
    equivalence = _equivalence(data.get("equivalence"), names, path)
    capacity = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    try:
        made = Machine(tuple(names), capacity, path.stem, equivalence, levels=data.get("levels") or {})
        for each in data.get("slices") or ():
            if not isinstance(each, dict) or set(each) != {"nodes", "gpu", "gpus"}:
                raise ValueError(f"machine: slices must be objects with nodes, gpu and gpus, got {shown(each)}")
            made = made.sliced(each["nodes"], each["gpu"], each["gpus"])
        return with_rules(made.partitioned(data.get("partitions") or {}), MachineRules.read(data))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def _equivalence(given: Any, names: list[str], path: Path) -> dict[str, int]:
    if given is None:
        return {"core": 1}
    processor = given.get("processor") if isinstance(given, dict) else None
    if not isinstance(processor, dict) or not processor:
        raise InputError(f"{path}: field 'equivalence': expected {{'processor': {{'core': 1}}}}, got {shown(given)}")
    for name, amount in processor.items():
        if name not in names:
            raise InputError(f"{path}: field 'equivalence': unknown resource {name!r}; known: {', '.join(names)}")
        _whole(path, f"field 'equivalence', resource {name!r}", amount, 1)
    return dict(processor)


def _whole(path: Path, where: str, value: Any, least: int, most: int | None = None) -> None:
    try:
        check_whole(f"{path}: {where}:", value, least, most)
    except ValueError as error:
        raise InputError(str(error).replace(": must be", ": expected", 1)) from None
