"""Questions asked of results and histories."""

__all__: list[str] = []
