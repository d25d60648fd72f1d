"""What it costs and how good it is: each against a named baseline in the same run."""
