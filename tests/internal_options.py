"""Simulations of dispatchers with options that only code sets."""

from hpcdispatch import simulation
from hpcdispatch.dispatchers import create_dispatcher


def made(spec):
    """Return a dispatcher by its spec, with any options."""
    return create_dispatcher(spec, internal=True)


def simulate(workload, dispatcher, *given, **options):
    """Simulate as :func:`hpcdispatch.simulation.simulate`, with a dispatcher that may name any of its options."""
    return simulation.simulate(workload, made(dispatcher), *given, **options)
