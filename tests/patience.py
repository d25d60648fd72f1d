"""The time that a test waits for another process. The machine may be busy."""

#: Seconds after which a process that does not answer is taken to hang.
PATIENCE = 300
