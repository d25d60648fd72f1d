"""A benchmark of fixed jobs and rules, whose results can be put side by side."""
