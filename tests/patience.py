"""How long a test waits for another process, on a machine that may be busy with other work."""

#: Seconds after which a process that does not answer is taken to hang.
PATIENCE = 300
