"""Twenty people at once, and a server that is killed."""

import pytest

from tests.workshop.load import load, made, summary


@pytest.mark.integration
def test_what_was_acknowledged_is_there_once(tmp_path):
    """20 people, 2,000 judgements, kill -9 in the middle: none that was acknowledged is lost."""
    shop = made(tmp_path, chunks=400)
    outcome = load(shop, judgements=2000, people=20)
    assert outcome.killed
    assert summary(shop, outcome)
    assert len(outcome.acknowledged) == 2000
    assert outcome.acknowledged == outcome.stored.keys()
    assert set(outcome.stored.values()) == {1}
