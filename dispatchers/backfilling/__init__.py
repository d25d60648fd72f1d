"""List scheduling and backfilling: the textbook dispatchers."""
