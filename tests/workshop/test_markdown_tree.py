"""Guidelines as a tree of tags and texts."""

from kragx.workshop.services.passages import tree


def test_markup_is_text_and_links_are_words():
    """By hand: HTML stays the text that it is, a link leads nowhere, a picture is its words."""
    assert tree("a <b>x</b> [l](http://x) ![p](http://x)") == [
        {"tag": "p", "children": ["a <b>x</b> ", "l", " ", "p"]}
    ]
    assert tree("[l](javascript:alert(1))\n\n<script>") == [
        {"tag": "p", "children": ["[l](javascript:alert(1))"]},
        {"tag": "p", "children": ["<script>"]},
    ]


def test_lists_tables_and_code():
    """Items that stand close together have no paragraphs; of code the words stay."""
    assert tree("- a\n- **b**\n\n`c`\n\n```x\nd\n```") == [
        {
            "tag": "ul",
            "children": [
                {"tag": "li", "children": ["a"]},
                {"tag": "li", "children": [{"tag": "strong", "children": ["b"]}]},
            ],
        },
        {"tag": "p", "children": [{"tag": "code", "children": ["c"]}]},
        {"tag": "pre", "children": ["d\n"]},
    ]
    (table,) = tree("| a |\n|---|\n| b |")
    assert [part["tag"] for part in table["children"]] == ["thead", "tbody"]
