"""The errors of kragx: `KragxError`, and those that are one."""

from kragx.ground.errors import (
    ConfigError,
    DataError,
    JudgingError,
    KragxError,
    MissingExtraError,
    RetrieverError,
    UntrustedError,
    UsageError,
    WorkerError,
)

__all__ = ["ConfigError", "DataError", "JudgingError", "KragxError", "MissingExtraError"]
__all__ += ["RetrieverError", "UntrustedError", "UsageError", "WorkerError"]
