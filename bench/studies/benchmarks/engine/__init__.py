"""What the engine costs, against stock AccaSim and a bare loop, and where its time goes; parts of one command.

Nothing is imported here: two of the modules are child processes, which would be loaded a second time.
"""
