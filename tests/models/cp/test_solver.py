"""The parameters of the solver."""

from hpcdispatch.models.cp.solver import make_solver


def test_ctrl_c_is_not_swallowed_by_the_solver():
    # CP-SAT would end its search and let the simulation go on.
    assert make_solver(1.0).parameters.catch_sigint_signal is False
