"""Student's t, by scipy, which is loaded once a mean's interval asks for it."""

from functools import lru_cache


@lru_cache(maxsize=256)
def student_t(p: float, df: int) -> float:
    """The p quantile of Student's t distribution with `df` degrees of freedom.

    Args:
        p: between 0 and 1.
        df: a whole number, at least 1.
    """
    from scipy.special import stdtrit

    return float(stdtrit(df, p))
