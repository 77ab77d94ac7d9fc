"""Templates: how they are read, what they are filled with, and the sets that kragx brings."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest

from kragx import DataError, UsageError
from kragx.workshop.questions import Template, own_templates, read_templates
from kragx.workshop.questions.targets import TARGETS
from tests.thoroughness import all_cases

KIND = {"id": "t", "query_type": "lookup", "difficulty": "easy"}


def template(text="Where is the {{ noun }}?", **fields):
    """A template with a text."""
    return Template(**KIND, text=text, **fields)


def test_names():
    """What a document must have follows from the text."""
    plain = template("{{ noun }}: {% if category %}{{ metadata.url }}{% endif %}")
    assert plain.names == {"noun", "category"}


def test_render():
    """Filled on one line; None where a name is missing or nothing is left, or too much."""
    assert template("a\n {{ noun }} ").render({"noun": "box"}) == "a box"
    assert template("{{ metadata.url }}").render({"metadata": {}}) is None
    assert template("{% if kind == 'case' %}x{% endif %}").render({"kind": "faq"}) is None
    assert template("{{ noun }}").render({"noun": "x" * 501}) is None
    assert template("{{ noun | josa('은/는') }}").render({"noun": "환불"}) == "환불은"


@all_cases("hostile", ["{{ 7*7 }}", "{% for x in y %}", "{#", "<script>", "\\", "${HOME}"])
def test_values_stay_text(hostile):
    """Nothing in a value is read as a template."""
    assert template("[{{ noun }}]").render({"noun": hostile}) == f"[{hostile}]"


@pytest.mark.parametrize("text", ["{{ noun.__class__.__mro__ }}", "{{ cycler.__init__.x }}"])
def test_sandbox(text):
    """A template reaches no attribute of Python's own."""
    with pytest.raises(UsageError, match=r"'t' cannot be filled: .*unsafe"):
        template(text).render({"noun": "box"})


@all_cases(
    ("fields", "problem"),
    [
        ({"text": "{{ noun"}, r"templates\[0\]\.text: no Jinja2: unexpected end"),
        ({"text": "{{ noun | jossa('은/는') }}"}, r"templates\[0\]\.text: no Jinja2: No filter"),
        ({"text": " "}, r"templates\[0\]\.text: ' ' is no text"),
        ({}, r"templates\[0\]\.text: missing; it is required"),
        ({"text": "a", "language": "fr"}, r"templates\[0\]\.language: unknown value 'fr'"),
        ({"text": "a", "difficulty": None}, r"templates\[0\]\.difficulty: None is no text"),
        ({"text": "a", "txt": "b"}, r"templates\[0\]\.txt: .*'text'"),
    ],
)
def test_wrong_templates(fields, problem):
    """What is wrong is named with its place."""
    with pytest.raises(UsageError, match=problem):
        read_templates({"templates": [{**KIND, **fields}]})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("templates: [", "t.yaml: not valid YAML"),
        ("- a", "t.yaml: holds no templates"),
        ("templates: {a: b}", "t.yaml: holds no templates"),
        ("templates: []", "t.yaml: templates: there is none"),
        ("templates: [a]", r"t.yaml: templates\[0\]: a mapping"),
        ("template: []\ntemplates: []", "unknown field; perhaps you meant 'templates'"),
    ],
)
def test_wrong_files(tmp_path, content, problem):
    """The file is named, and what is wrong in it."""
    (tmp_path / "t.yaml").write_text(content)
    with pytest.raises((UsageError, DataError), match=problem):
        read_templates(tmp_path / "t.yaml")


def test_a_set():
    """The language of a set is that of those that name none; an id stands once."""
    entries = [{**KIND, "text": "a"}, {**KIND, "id": "u", "text": "b", "language": "en"}]
    assert [t.language for t in read_templates({"language": "ko", "templates": entries})] == [
        "ko",
        "en",
    ]
    with pytest.raises(UsageError, match=r"templates\[1\]\.id: 't' stands twice"):
        read_templates({"templates": [entries[0], entries[0]]})


@pytest.mark.parametrize("language", ["ko", "en"])
class TestOwnSets:
    """The sets that kragx brings."""

    def test_cells(self, language):
        """Three for each of three types and difficulties; all make 100 with the target shares."""
        cells = Counter((t.query_type, t.difficulty) for t in own_templates(language))
        assert len(cells) == 9
        assert min(cells.values()) >= 3
        for kind, share in TARGETS["query_type"].items():
            for level, part in TARGETS["difficulty"].items():
                assert 3 * cells[kind, level] >= 100 * share * part

    def test_wholly_different(self, language):
        """No two templates share half of their words: a retriever learns no pattern."""
        sets = {
            t.id: {*re.findall(r"\w+", re.sub(r"\{\{.*?\}\}", "", t.text))}
            for t in own_templates(language)
        }
        usual = {"the", "a", "to", "of", "in", "on", "and", "was", "is", "it", "for", "with", "I"}
        for (one, words), (other, theirs) in combinations(sets.items(), 2):
            shared = (words & theirs) - usual
            assert len(shared) <= max(1, len((words | theirs) - usual) / 2), (one, other, shared)

    def test_openings_and_endings(self, language):
        """Within a type few open, or end, with the same word, where that is none filled in."""
        for kind in ("general_inquiry", "legal_interpretation", "similar_case"):
            texts = [
                re.sub(r"\{\{.*?\}\}\S*", "_", t.text)
                for t in own_templates(language)
                if t.query_type == kind
            ]
            for place in (0, -1):
                ends = Counter(text.split()[place] for text in texts)
                del ends["_"], ends["_?"], ends["_."]
                assert max(ends.values()) <= 3, (kind, place, ends.most_common(2))

    def test_all_can_be_filled(self, language):
        """Each makes a question of a heading and noun phrases, without a double space or brace."""
        noun = {"ko": "반품 접수", "en": "gift card"}[language]
        one = {"heading": "A b", "noun": noun, "nouns": [noun], "metadata": {}}
        for t in own_templates(language):
            text = t.render(one)
            assert text
            assert not re.search(r"[{}]|  ", text), text
