"""`kragx gold probes`: from a corpus to a file of probes, or why there is none."""

from __future__ import annotations

DOCS = (
    {"id": "d1", "text": "# Gift card\nThe gift card is blue.", "metadata": {"tenant": "alpha"}},
    {"id": "d2", "text": "# Opened box\nThe opened box is old.", "metadata": {"tenant": "beta"}},
)


def test_counted(kragx, jsonl, here):
    """Without --out they are counted; JSON has the counts."""
    corpus = jsonl(*DOCS, name="corpus.jsonl")
    code, out, _ = kragx("gold", "probes", corpus, "--by", "metadata.tenant", "-n", "2")
    assert (code, "2 of 2 probes: 2 values of metadata.tenant in 2 documents" in out) == (0, True)
    plain = kragx("gold", "probes", corpus, "--by", "tenant", "--format", "json").json()
    assert (plain["n_probes"], plain["n_values"], plain["n_without"]) == (2, 2, 0)


def test_refused(kragx, jsonl, here):
    """A wrong field and a file that is there: codes and remedies."""
    corpus = jsonl(*DOCS, name="corpus.jsonl")
    code, _, problem = kragx("gold", "probes", corpus, "--by", "metadata.tenat")
    assert (code, "perhaps you meant 'metadata.tenant'" in problem) == (2, True)
    (here / "p.jsonl").write_text("")
    code, _, problem = kragx("gold", "probes", corpus, "--by", "metadata.tenant", "-o", "p.jsonl")
    assert (code, "p.jsonl exists" in problem) == (2, True)
