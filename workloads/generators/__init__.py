"""Generated workloads, by name."""
