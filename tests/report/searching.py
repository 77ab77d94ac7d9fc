"""Agents for tests of reports: one that finds little at once, and one that searches on."""

from __future__ import annotations

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, Search, Stage

N = 6


def dataset(n: int = N) -> GoldDataset:
    """Questions with two gold items each."""
    return GoldDataset(
        tuple(
            Query(
                f"q{at}",
                f"질문 {at}: how long does a member have to return it, and who pays?",
                (Gold(f"a{at}", f"답 {at} 하나 둘 셋"), Gold(f"b{at}", f"답 {at} 넷 다섯 여섯")),
            )
            for at in range(n)
        ),
        name="agents",
    )


def doc(name: str, at: int) -> Doc:
    """A gold item's document for a or b, another one for any other letter."""
    number = f"{name}{at}"
    texts = {"a": f"답 {at} 하나 둘 셋", "b": f"답 {at} 넷 다섯 여섯"}
    return Doc(number, texts.get(name, f"관계없는 문서 {number}"))


def docs(names: str, at: int) -> tuple[Doc, ...]:
    """A document for each letter."""
    return tuple(doc(name, at) for name in names)


def thorough(at: int, n_steps: int) -> Retrieved:
    """Finds a in the second step beside a search that fails, b never; the last is unmeasured."""
    first = Search(
        "기간", docs("xy", at), tool="handbook", step=1, seconds=0.5, tokens=300, read=(1,)
    )
    second = Search("return <b>period</b>", docs("xa", at), tool="handbook", step=2, tokens=400)
    beside = Search("who pays", (), tool="web", step=2, tokens=50, error="TimeoutError: 30 s")
    further = [
        Search(f"once more {step}", docs("ay", at), tool="web", step=step, tokens=100)
        for step in range(3, n_steps)
    ]
    last = Search("sum of fees", None, tool="sql", step=max(n_steps, 3), tokens=20)
    return Retrieved(searches=(first, second, beside, *further, last), has_list=False)


def quick(at: int) -> Retrieved:
    """Finds b at once for every other question, else nothing; its reranker has cut a."""
    letters = "bx" if at % 2 == 0 else "xy"
    stages = (
        Stage("bm25", (), docs(f"a{letters}", at)),
        Stage("rerank", ("bm25",), docs(letters, at)),
    )
    search = Search("words", docs(letters, at), tool="handbook", stages=stages, read=(0,))
    return Retrieved(searches=(search,), has_list=False)


def runs(n: int = N, n_steps: int = 4) -> dict[str, Run]:
    """Both agents and a retriever that is asked once."""
    made = {
        "thorough": {f"q{at}": thorough(at, n_steps) for at in range(n)},
        "quick": {f"q{at}": quick(at) for at in range(n)},
        "once": {f"q{at}": Retrieved(docs("xya", at)) for at in range(n)},
    }
    return {name: Run(results, name=name) for name, results in made.items()}
