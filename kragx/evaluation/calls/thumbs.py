"""What people thought of an answer, by the words that logs have for it."""

from __future__ import annotations

THUMBS = frozenset(
    {
        *("thumb", "thumbs", "thumbs_up", "user_thumbs", "user_score", "user_feedback", "feedback"),
        *("vote", "like", "helpful", "user_rating_thumbs", "평가", "만족", "좋아요"),
    }
)
"""What a score of people's is called where it is a thumb; small letters, ``_`` for ``-``."""

_UP = {"1", "1.0", "+1", "up", "like", "liked", "good", "positive", "yes", "true", "helpful"}
_UP |= {"thumbs_up", "thumbsup", "+", "👍", "좋아요", "만족", "도움됨", "추천"}
_DOWN = {"-1", "-1.0", "down", "dislike", "disliked", "bad", "negative", "no", "false", "unhelpful"}
_DOWN |= {"thumbs_down", "thumbsdown", "-", "👎", "싫어요", "불만족", "도움안됨", "비추천"}


def thumb(value: object) -> int | None:
    """1 for a thumb up, -1 for one down, 0 for the number 0; None for anything else.

    Whether 0 is down depends on what else a log has: down where nothing is -1.
    """
    if isinstance(value, bool):
        return 1 if value else -1
    word = str(value).strip().casefold()
    word = word.replace("-", "_").replace(" ", "_") if word[:1].isalpha() else word
    if word in ("0", "0.0"):
        return 0
    return 1 if word in _UP else -1 if word in _DOWN else None
