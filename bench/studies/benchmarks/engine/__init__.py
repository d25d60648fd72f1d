"""Costs of the engine against stock AccaSim and a bare loop, and their breakdown. Parts of one command.

Nothing is imported here. Two of the modules are child processes, which would be loaded a second time.
"""
