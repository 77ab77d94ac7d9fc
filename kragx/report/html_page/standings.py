"""Each matcher's comparison as plain values, as the page reads it."""

from collections.abc import Sequence
from typing import Any

from kragx.comparison import Comparison, flips_warning
from kragx.plain import plain
from kragx.report.html_page.rounding import short


def standings(
    comparisons: Sequence[Comparison], query_ids: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """By the matcher's name, with the positions of queries instead of their ids."""
    position_of = {query_id: position for position, query_id in enumerate(query_ids)}
    values: dict[str, dict[str, Any]] = {}
    for comparison in comparisons:
        own = comparison.to_dict()
        for part in own["slices"]:
            part["rows"] = [position_of[query_id] for query_id in part.pop("query_ids")]
        own["flips"] = [
            {
                "metric": flips.metric,
                "chosen": flips.chosen,
                "leader": flips.leader,
                "swapped": plain(flips.swapped),
            }
            for flips in comparison.flips
        ]
        # The page says itself what these flips mean.
        of_flips = flips_warning(comparison.flips)
        own["cautions"] = [caution for caution in comparison.cautions if caution != of_flips]
        own["advice"] = plain(comparison.recommendations)
        values[comparison.match] = short(own)
    return values
