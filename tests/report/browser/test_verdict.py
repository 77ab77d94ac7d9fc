"""What the verdict says of metrics in which another retriever is better."""

from __future__ import annotations

import pytest

from kragx import GoldDataset, Run, evaluate, write_html

N = 60


@pytest.mark.parametrize(
    ("metrics", "language", "said"),
    [
        (
            ["mrr@5", "recall@5"],
            "en-US",
            "But late is better than it in recall@5: the difference is +0.3333 [",
        ),
        (["mrr@5", "recall@5"], "ko-KR", "+0.3333 ["),
        (
            ["mrr@5", "recall@5", "hit_rate@5"],
            "en-US",
            "But late is better than it in recall@5 and hit_rate@5: in recall@5 the difference is ",
        ),
    ],
)
def test_where_another_is_better(opened, tmp_path, metrics, language, said):
    """A metric that is the only one is named once."""
    gold = GoldDataset.from_documents([[{"id": f"g{at}"}] for at in range(N)])
    others = ["x", "y", "z"]
    lists = {
        "early": [[*([f"g{at}"] if at % 3 else []), *others] for at in range(N)],
        "late": [[*others, f"g{at}"] for at in range(N)],
    }
    runs = {
        name: Run.from_documents(
            {query.id: [{"id": id_} for id_ in ids] for query, ids in zip(gold, of_name)},
            name=name,
        )
        for name, of_name in lists.items()
    }
    path = tmp_path / "page.html"
    results = evaluate(gold, runs, match="id", metrics=metrics)
    write_html(results.evaluations, path, dataset=gold, runs=runs)
    page = opened(path=path, language=language)
    assert said in " ".join(page.inner_text("section.verdict").split())
