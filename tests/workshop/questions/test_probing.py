"""Probes: whom each asks for, what it forbids, and that a document counts once."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, UsageError
from kragx.workshop.questions import make_probes
from kragx.workshop.questions.words import has_kiwi
from tests.thoroughness import examples

THINGS = ("ferry", "kettle", "parcel", "voucher", "carton", "invoice")


def doc(name, thing, tenant, **metadata):
    """A document about a thing."""
    text = f"# The {thing} plan\nThe {thing} is old. The {thing} is blue."
    own = {} if tenant is None else {"tenant": tenant}
    return {"id": name, "text": text, "metadata": own | metadata}


def forbidden(query):
    """The ids that a probe forbids."""
    return {item.id for item in query.forbidden}


def test_by_hand():
    """Two tenants with a document each: each asks for the other's, which alone is forbidden."""
    result = make_probes(
        [doc("a", "ferry", "alpha"), doc("b", "kettle", "beta")], "metadata.tenant"
    )
    assert {(q.metadata["tenant"], *forbidden(q)) for q in result.queries} == {
        ("alpha", "b"),
        ("beta", "a"),
    }
    assert {q.query_type for q in result.queries} == {"probe"}
    assert {item.why for q in result.queries for item in q.forbidden} == {"tenant"}
    assert not any(q.gold or q.answerable is False for q in result.queries)
    assert {q.metadata["probe"] for q in result.queries} == {"a", "b"}


def test_everybody_elses():
    """What two other tenants both say is forbidden in both; what the asker says too is not asked.

    Unless there is nothing else to ask: then their own document is still not forbidden.
    """
    docs = [doc("a", "ferry", "alpha"), doc("b", "kettle", "beta"), doc("c", "kettle", "gamma")]
    for query in make_probes(docs, "tenant").queries:
        if query.metadata["tenant"] == "alpha":
            assert forbidden(query) == {"b", "c"}
        else:
            assert forbidden(query) in ({"a"}, {"b"}, {"c"})
            assert query.metadata["tenant"] not in {
                d["metadata"]["tenant"] for d in docs if d["id"] in forbidden(query)
            }


@examples(60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(THINGS),
            st.sampled_from([None, "alpha", "beta", 1, "1", True, ["alpha", "beta"], []]),
        ),
        min_size=2,
        max_size=12,
    ),
    st.integers(0, 3),
)
def test_never_ones_own(rows, seed):
    """No document is forbidden to one of its owners, and each is probed once at most.

    1, "1" and true are three tenants; who shares a list's document is not kept from it.
    """
    docs = [
        doc(f"d{n}", thing, None if tenant == [] else tenant)
        for n, (thing, tenant) in enumerate(rows)
    ]
    owners = {
        d["id"]: [(type(one), one) for one in (value if isinstance(value, list) else [value])]
        for d in docs
        if (value := d["metadata"].get("tenant")) is not None
    }
    if len({one for members in owners.values() for one in members}) < 2:
        with pytest.raises(UsageError):
            make_probes(docs, "metadata.tenant", seed=seed)
        return
    result = make_probes(docs, "metadata.tenant", seed=seed)
    probed = [query.metadata["probe"] for query in result.queries]
    assert len(probed) == len({*probed})
    texts = {d["id"]: d["text"] for d in docs}
    assert len({texts[name] for name in probed}) == len(probed)  # copies count once
    for query in result.queries:
        asker = query.metadata["tenant"]
        assert query.metadata["probe"] in forbidden(query)
        for name in forbidden(query):
            assert (type(asker), asker) not in owners[name]
    assert result.queries == make_probes(docs, "metadata.tenant", seed=seed).queries


def test_one_a_source():
    """Chunks of one source are one document: two questions about it would fail together."""
    docs = [
        doc(f"a{n}", thing, "alpha", source="contract", start_index=1000 * n)
        for n, thing in enumerate(THINGS)
    ]
    result = make_probes([*docs, doc("b", "boat", "beta")], "metadata.tenant")
    assert sorted(query.metadata["probe"] for query in result.queries) == ["b", "contract"]


def test_tenants_take_turns():
    """A tenant with few documents is asked about as often, and asks as often, as one with many."""
    docs = [doc(f"a{n}", f"{thing}{n}", "alpha") for n, thing in enumerate(THINGS * 5)]
    docs += [doc(f"{t}{n}", f"{t}{n}", t) for t in ("beta", "gamma") for n in range(4)]
    result = make_probes(docs, "metadata.tenant", n=12)
    owners = [query.metadata["probe"].rstrip("0123456789") for query in result.queries]
    assert sorted(map(owners.count, ("a", "beta", "gamma"))) == [4, 4, 4]
    askers = [query.metadata["tenant"] for query in result.queries]
    assert max(map(askers.count, askers)) <= 6


@pytest.mark.skipif(not has_kiwi(), reason="needs Kiwi")
def test_korean():
    """Korean documents are asked about by noun phrases, whose particles are no other words."""
    docs = [
        {"id": "a", "text": "멤버십 등급은 해마다 정합니다.", "metadata": {"tenant": "가"}},
        {"id": "b", "text": "도서산간 배송비는 5,000원입니다.", "metadata": {"tenant": "나"}},
    ]
    for query in make_probes(docs, "metadata.tenant").queries:
        words = {"a": ("멤버십", "등급"), "b": ("도서", "산간", "배송비")}[query.metadata["probe"]]
        assert any(word in query.text for word in words)


@pytest.mark.parametrize(
    ("tenants", "by", "message"),
    [
        (("alpha", "beta"), "metadata.tenat", "perhaps you meant 'metadata.tenant'"),
        (("alpha", "alpha"), "metadata.tenant", "the same there, 'alpha'.*two values or more"),
        ((None, None), "metadata.tenant", "give the documents metadata"),
    ],
)
def test_refused(tenants, by, message):
    """A field that is absent, or tells nobody apart, is refused with a remedy."""
    docs = [doc(f"d{n}", "ferry", tenant) for n, tenant in enumerate(tenants)]
    with pytest.raises(UsageError, match=message):
        make_probes(docs, by)


def test_without_an_id():
    """A document without an id could not be forbidden by it, and is refused."""
    with pytest.raises(DataError, match="id"):
        make_probes([{"text": "The ferry.", "metadata": {"tenant": "a"}}], "metadata.tenant")


def test_nested():
    """A path within the metadata is found, and made again for who asks."""
    docs = [
        {
            "id": name,
            "text": f"# The {name} plan\nIt is blue.",
            "metadata": {"acl": {"group": name}},
        }
        for name in ("ferry", "kettle")
    ]
    result = make_probes(docs, "metadata.acl.group")
    assert {query.metadata["acl"]["group"] for query in result.queries} == {"ferry", "kettle"}
    assert {item.why for query in result.queries for item in query.forbidden} == {"group"}
