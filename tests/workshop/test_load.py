"""Twenty people at once, and a server that is killed."""

import pytest

from tests.thoroughness import THOROUGH
from tests.workshop.load import load, made, summary

JUDGEMENTS = 2000 if THOROUGH else 600


@pytest.mark.integration
def test_what_was_acknowledged_is_there_once(tmp_path):
    """20 people at once, kill -9 in the middle: no judgement that was acknowledged is lost."""
    shop = made(tmp_path, chunks=400)
    outcome = load(shop, judgements=JUDGEMENTS, people=20)
    assert outcome.killed
    assert summary(shop, outcome)
    assert len(outcome.acknowledged) == JUDGEMENTS
    assert outcome.acknowledged == outcome.stored.keys()
    assert set(outcome.stored.values()) == {1}
