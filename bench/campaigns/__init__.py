"""Everything that runs many simulations: what is run, the processes that run it, and the store of what came out."""
