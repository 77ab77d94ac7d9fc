"""Questions that are asked in the provider's batches: submitted, looked after, and collected."""

__all__: list[str] = []
