"""What the engine costs, against stock AccaSim and a bare loop, and where its time goes; parts of one command.

Nothing is imported here: the process of stock AccaSim must not load the simulation, which mends AccaSim.
"""
