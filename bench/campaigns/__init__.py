"""Run many simulations: what is run, the processes that run it, and the store of results."""
