"""Metric strings: what is read, how it is printed, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from kragx import UsageError
from kragx.metrics import DEFAULT_METRICS, METRICS, MetricSpec, parse, parse_all, profile
from tests.thoroughness import all_cases

from .support import CHOICES, OPTIONS, metric_strings, quick


@st.composite
def specs(draw: st.DrawFn) -> MetricSpec:
    """Any valid metric."""
    name = draw(st.sampled_from(list(OPTIONS)))
    options = {
        option: draw(st.sampled_from(CHOICES[option])) if option in CHOICES else draw(rels)
        for option in OPTIONS[name]
    }
    return METRICS[name].spec(draw(st.none() | st.integers(1, 10**6))).with_options(**options)


rels = st.none() | st.floats(0, 1e300, exclude_min=True) | st.integers(1, 9).map(float)
spaces = st.text(" \t", max_size=2)


@given(specs())
@quick
def test_printing_and_parsing_are_inverse(spec: MetricSpec) -> None:
    """The canonical name of a metric is parsed to the same metric, to the last digit of rel."""
    assert parse(str(spec)) == spec


@given(specs(), st.data())
@quick
def test_case_and_spaces_do_not_matter(spec: MetricSpec, data: st.DataObject) -> None:
    """The name's case, and spaces around any part, change nothing."""
    spec = spec if spec["rel"] is None else spec.with_options(rel=2.0)
    parts = [part for part in str(spec).replace("(", " ( ").replace(")", " ) ").split(" ") if part]
    parts[0] = "".join(data.draw(st.sampled_from([c.lower(), c.upper()])) for c in parts[0])
    spaced = "".join(data.draw(spaces) + part.replace("=", " = ") for part in parts)
    assert parse(spaced + data.draw(spaces)) == spec


@all_cases(
    ("written", "canonical"),
    [
        ("nDCG@10", "ndcg@10"),
        ("  MAP @ 3 ( norm = hits ) ", "map@3(norm=hits)"),
        ("Hit-Rate@5", "hit_rate@5"),
        ("hit_rate@5(need=all)", "hit_rate@5(need=all)"),
        ("hit_rate@5(need=any)", "hit_rate@5"),
        ("mrr", "mrr"),
        ("ndcg@10()", "ndcg@10"),
        ("ndcg@10(gain=exp2)", "ndcg@10(gain=exp2)"),
        ("ndcg@010(gain=linear)", "ndcg@10"),
        ("map@3(norm=m)", "map@3"),
        ("map@3(norm=cut)", "map@3(norm=cut)"),
        ("precision@5(over=retrieved)", "precision@5(over=retrieved)"),
        ("precision@5(rel=2.0,over=retrieved)", "precision@5(over=retrieved, rel=2)"),
        ("f1(over=k)", "f1"),
        ("recall@5(rel=2)", "recall@5(rel=2)"),
        ("recall@5(rel=0.5)", "recall@5(rel=0.5)"),
        ("redundancy@5(rel=2)", "redundancy@5(rel=2)"),
    ],
)
def test_canonical_names(written: str, canonical: str) -> None:
    """A metric has one canonical name, which says only what differs from the defaults."""
    assert str(parse(written)) == canonical


def test_every_option_reaches_the_spec() -> None:
    """Each option that a metric should have sets the field of its name and no other."""
    settable = {
        name: tuple(option for option, of in metric.options.items() if of.settable)
        for name, metric in METRICS.items()
        if metric.from_matches is not None
    }
    assert {name: settable[name] for name in OPTIONS} == OPTIONS
    for name, options in OPTIONS.items():
        for option in options:
            for value in CHOICES.get(option, ("2.5",)):
                spec = parse(f"{name}@4({option}={value})")
                expected = float(value) if option == "rel" else value
                assert spec == METRICS[name].spec(4).with_options(**{option: expected})


def test_names_are_distinct() -> None:
    """Different metrics have different canonical names."""
    names = [str(parse(text)) for text in metric_strings([1, 10, None], rels=("1", "2"))]
    assert len(set(names)) == len(names)


@all_cases(
    ("written", "hint"),
    [
        ("ndgc@10", "'ndcg'"),
        ("recal@10", "'recall'"),
        ("hitrate", "'hit_rate'"),
        ("precison", "'precision'"),
        ("ndcg@10(gian=exp2)", "'gain'"),
        ("map@3(nrom=hits)", "'norm'"),
        ("hit_rate(ned=all)", "'need'"),
        ("f1(ovr=k)", "'over'"),
        ("ndcg@10(gain=exp)", "'exp2'"),
        ("map(norm=hit)", "'hits'"),
        ("precision(over=retrived)", "'retrieved'"),
        ("hit_rate(need=al)", "'all'"),
        ("ndcg_10", "'ndcg@10'"),  # bare ndcg would be another number
        ("precision5", "'precision@5'"),
        ("Hit-Rate_at_3", "'hit_rate@3'"),
        ("f1_score", "'f1@5'"),
        ("latency", "'seconds_p95'"),
    ],
)
def test_a_typing_mistake_is_answered_with_the_nearest(written: str, hint: str) -> None:
    """An unknown name, option or value is refused, quoted, and the nearest valid one proposed."""
    with pytest.raises(UsageError, match=f"perhaps you meant {hint}") as caught:
        parse(written)
    assert repr(written) in str(caught.value)


def test_several_are_a_list() -> None:
    """Several metrics in one string are refused with how to write them, as a mapping is."""
    for written in ("ndcg@5, mrr", "P@5,nDCG@10"):
        with pytest.raises(UsageError, match="several metrics are a list"):
            parse(written)
    with pytest.raises(UsageError, match=r"metrics: a list is expected \({'ndcg': \[1, 3\]}\)"):
        parse_all({"ndcg": [1, 3]})


ALIASES = [alias for metric in METRICS.values() for alias in metric.aliases]


@pytest.mark.parametrize(
    ("written", "valid"),
    [
        ("zzz@10", ", ".join([*METRICS, *ALIASES])),
        ("ndcg@10(zzz=1)", "gain, gain_from, of, order"),
        ("map(norm=zzz)", "m, hits, cut"),
        ("mrr(over=k)", "rel, of, order"),
    ],
)
def test_what_is_near_nothing_is_answered_with_everything(written: str, valid: str) -> None:
    """Where nothing valid is near, all that is valid is listed."""
    with pytest.raises(UsageError, match=f"valid: {valid}$"):
        parse(written)


def test_an_order_is_of_all_searches_and_steps_are_no_budget() -> None:
    """Any other list has its order already; and a number of steps is none of tokens."""
    assert str(parse("ndcg@5(order=chain, of=all)")) == "ndcg@5(of=all, order=chain)"
    assert str(parse("mrr(of=first, order=turns)")) == "mrr(of=first)"
    with pytest.raises(UsageError, match="of=all with it"):
        parse("ndcg@5(of=first, order=chain)")
    with pytest.raises(UsageError, match=r"after steps.*recall@500tokens\(of=all\)"):
        parse("evidence_recall@500tokens")


@all_cases("k", ["0", "-1", "00", "1.5", "1e3", "x", "", "+3", "1@2", "٣", "½", "9" * 5000])
def test_k_is_a_whole_number_above_0(k: str) -> None:
    """Any other k is refused."""
    with pytest.raises(UsageError, match="k must be a whole number"):
        parse(f"ndcg@{k}")


@all_cases(
    "written",
    [
        "",
        "  ",
        "@10",
        "10",
        "ndcg 10",
        "ndcg@10 20",
        "ndcg@10(gain=exp2",
        "ndcg@10 gain=exp2)",
        "ndcg@10(gain=exp2))",
        "ndcg@10(gain)",
        "ndcg@10(gain=)",
        "ndcg@10(=exp2)",
        "ndcg@10((gain=exp2))",
        "ndcg(gain=exp2)@10",
        "ndcg@10, map@10",
        "ndcg@10\nmap@10",
    ],
)
def test_broken_syntax(written: str) -> None:
    """What is not name@k(option=value, ...) is refused and the form shown."""
    with pytest.raises(UsageError, match=r"not of the form (name@k\(option=value\)|option=value)"):
        parse(written)


def test_an_option_stands_once() -> None:
    """An option given twice is refused, even with the same value."""
    with pytest.raises(UsageError, match="'norm' stands twice"):
        parse("map@3(norm=hits, norm=hits)")


def test_ndcg_has_no_rel() -> None:
    """NDCG weighs grades itself and refuses a least grade, and says which options it takes."""
    with pytest.raises(UsageError, match=r"ndcg has no option 'rel'; .*gain"):
        parse("ndcg@10(rel=2)")


@all_cases("rel", ["0", "-1", "-0.0", "nan", "inf", "1e999", "many", "2.5.1"])
def test_rel_is_a_number_above_0(rel: str) -> None:
    """A least grade that is not a finite number above 0 is refused."""
    with pytest.raises(UsageError, match="rel must be a number above 0"):
        parse(f"recall@5(rel={rel})")


@pytest.mark.parametrize("value", [None, 10, b"ndcg", ["ndcg"]])
def test_a_metric_is_a_string(value: object) -> None:
    """Anything but a string or a spec is refused with an example."""
    with pytest.raises(UsageError, match="a string such as"):
        parse(value)  # type: ignore[arg-type]


def test_no_metrics() -> None:
    """An empty list is refused; None stands for the usual seven at 10."""
    with pytest.raises(UsageError, match="the list is empty"):
        parse_all([])
    assert [str(spec) for spec in parse_all(None)] == list(DEFAULT_METRICS)
    assert len(DEFAULT_METRICS) == 7
    assert DEFAULT_METRICS[0] == "ndcg@10"
    assert all(name.endswith("@10") for name in DEFAULT_METRICS)


def test_several_metrics() -> None:
    """Metrics keep their order, and one that is written in two ways is computed once."""
    specs = parse_all(["recall@5", "nDCG@10", "ndcg@10 (gain=linear)"])
    assert [str(spec) for spec in specs] == ["recall@5", "ndcg@10"]
    assert parse_all("recall@5") == specs[:1]


def test_metrics_from_an_iterator() -> None:
    """Metrics may come from an iterator, which can be read once only; an empty one is refused."""
    assert [str(spec) for spec in parse_all(iter(["recall@5"]))] == ["recall@5"]
    with pytest.raises(UsageError, match="the list is empty"):
        parse_all(iter([]))


def test_a_profile_gives_the_defaults_and_the_name_tells() -> None:
    """Options that a string leaves open are the profile's, and the canonical name shows them."""
    other = replace(profile("kragx"), name="other", over="retrieved", norm="cut", rel=2.0)
    assert str(parse("precision@5", other)) == "precision@5(over=retrieved, rel=2)"
    assert str(parse("precision@5(over=k)", other)) == "precision@5(rel=2)"
    assert str(parse("map@5(rel=1)", other)) == "map@5(norm=cut, rel=1)"
    assert str(parse("ndcg@5", other)) == "ndcg@5"


def test_an_unknown_profile() -> None:
    """A profile that does not exist is answered with the nearest that does."""
    with pytest.raises(UsageError, match="perhaps you meant 'kragx'"):
        profile("kragxx")
