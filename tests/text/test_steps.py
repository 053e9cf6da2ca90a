"""Splitting texts into steps: plain text, lists, Markdown, recipes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koala.errors import KoalaError
from koala.text.steps import split_steps


def steps_of(text: str) -> list[str]:
    steps = split_steps(text)
    for step in steps:
        assert text[step.start : step.start + len(step.text)] == step.text
    return [step.text for step in steps]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Mix flour.\nBake it.", ["Mix flour.", "Bake it."]),
        ("1. Mix it.\n2. Bake it.\n\n 10) Eat  it all.", ["Mix it.", "Bake it.", "Eat  it all."]),
        ("- Mix\n* Bake\n• Eat", ["Mix", "Bake", "Eat"]),
        ("Step 1: Mix\nSTEP 2 - Bake\n(3) Eat", ["Mix", "Bake", "Eat"]),
        ("6 cups go in\n1.5 l of milk, too", ["6 cups go in", "1.5 l of milk, too"]),
        ("Roots absorb water.  It flows up.", ["Roots absorb water.", "It flows up."]),
        ("Its pH is 7.5 here. Dr. Smith knows.", ["Its pH is 7.5 here.", "Dr. Smith knows."]),
        ("1. Mix. 2. Bake it at 350. 3. Eat.", ["Mix.", "Bake it at 350.", "Eat."]),
        ("“Rain” falls. It’s wet…", ["“Rain” falls.", "It’s wet…"]),
        ("a\r\nb\rc", ["a", "b", "c"]),
        ("Just one", ["Just one"]),
    ],
)  # fmt: skip
def test_plain_texts_and_lists_are_split(text, steps):
    assert steps_of(text) == steps


RECIPE = """\
# Grandma's bread

Serves **four**.

## Ingredients

- 2 cups of flour
- 1 cup of water

### For the top

* poppy seeds

## Method

1. **Mix** the flour and the [water](https://example.org).
2. Knead it:

```python
while not smooth: knead()
```

   1) ten minutes by hand, or
   b) five in a machine.

> Let it rest.

| oven | degrees |
|:----:|--------:|
| gas  | 230     |

- [ ] Heat the oven.
- [x] Bake it.

---
![A loaf](loaf.png)
<!-- not for print -->
[1]: https://example.org
"""


def test_markdown_is_split():
    assert steps_of(RECIPE) == [
        "Serves **four**.",
        "**Mix** the flour and the [water](https://example.org).",
        "Knead it:",
        "ten minutes by hand, or",
        "five in a machine.",
        "Let it rest.",
        "Heat the oven.",
        "Bake it.",
    ]
    assert steps_of(RECIPE.replace("\n", "\r\n")) == steps_of(RECIPE)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Ingredients:\nflour\nFor the top:\nseeds\nMethod\nMix.\nBake.", ["Mix.", "Bake."]),
        ("INGREDIENTS (serves 4)\nflour\nDirections:\nMix.\nBake.", ["Mix.", "Bake."]),
        ("What you’ll need\na pan\nCooking Instructions\nMix.\nBake.", ["Mix.", "Bake."]),
        ("My bread\n1. Mix\n2. Bake\nThe top\n1. Egg\n2. Seeds", ["Mix", "Bake", "Egg", "Seeds"]),
        ("Step 1\nMix flour.\nStep 2:\nBake it.\n3\nEat.", ["Mix flour.", "Bake it.", "Eat."]),
        ("Bread\n=====\nMix.\nBake.", ["Mix.", "Bake."]),
        ("## Step 1: Mix\n## Step 2: Bake", ["Mix", "Bake"]),
        ("**Method:**\n**1.** Mix.\n**Step 2**: Bake.\n__Eat.__", ["Mix.", "Bake.", "Eat."]),
        ("# Bread\nMix flour. Bake it.", ["Mix flour.", "Bake it."]),
        ("1.1. Mix\n1.2. Bake\n(a) Eat", ["Mix", "Bake", "Eat"]),
        ("\ufeff\u200bMix\u200b\n\u200b\n\t\u00a0Bake\t", ["Mix", "Bake"]),
        ("~~~\ncode\n~~~\nMix\n```\nBake", ["Mix", "Bake"]),
    ],
)  # fmt: skip
def test_headings_and_other_lines_without_steps_are_skipped(text, steps):
    assert steps_of(text) == steps


@pytest.mark.parametrize(
    "steps",
    [
        ["Assemble the following reagents:", "Follow the instructions", "Wait."],
        ["Combine in a bowl:", "For ten minutes, stir.", "Note the time."],
        # No heading tells where the steps start.
        ["2 eggs", "Boil the eggs."],
        # These look like Markdown, but are not.
        [">50 ml of water", "#3 is heated", "Use a | b", "*Mix* it", "5 * 3 cups", "**a** or _b_"],
        ["# of events is set.", "Run it."],
        ["Mix", "Bake"],
    ],
)  # fmt: skip
def test_steps_that_look_like_headings_are_kept(steps):
    found = steps_of("\n".join(["Equipment:", *steps, "Notes", "Serve."]))
    assert found == [*(step.removeprefix("# ") for step in steps), "Serve."]


@pytest.mark.parametrize(
    "text", ["# Mix\n# Bake", "Method\nNotes", "Ingredients\nflour\nMethod", "1\n2", "---\n***"]
)
def test_all_lines_are_steps_if_all_look_like_headings(text):
    lines = [line.removeprefix("# ") for line in text.split("\n")]
    assert steps_of(text) == lines


def test_many_steps_and_long_lines():
    lines = [f"Add {number} cups of water." for number in range(100)]
    assert steps_of("\n".join(f"{n}) {line}" for n, line in enumerate(lines, 1))) == lines
    # Repeated marks must not make a regular expression backtrack.
    for mark in ("# ", "> ", "```\n", "|-|\n", "<a>", "(", "**", "1.", " \u200b", "=\n", "- "):
        steps_of(f"Mix.\n{mark * 2_000}\nBake.")


def test_propara_texts_are_split_into_their_sentences(propara):
    for split in ("train", "dev"):
        path = propara / "leaderboard" / split / "sentences.tsv"
        texts: dict[str, list[str]] = {}
        for line in path.read_text("utf-8").splitlines():
            id, _, sentence = line.split("\t")
            texts.setdefault(id, []).append(sentence)
        for sentences in texts.values():
            if len(sentences) > 1:
                assert steps_of("\n".join(sentences)) == [s.strip() for s in sentences]


@pytest.mark.parametrize("text", ["", "  \n\t\n", "\r\n", "\u2028", "\u200b\n\ufeff"])
def test_an_empty_text_is_rejected(text):
    with pytest.raises(KoalaError, match="empty"):
        split_steps(text)


MARKDOWN = st.lists(st.sampled_from((*"#>-*_|`~=1.): \n\t<", "Mix it", "Method", "```", "\u200b")))


@settings(max_examples=100)
@given(st.text(max_size=80) | MARKDOWN.map("".join))
def test_any_text_is_split_with_valid_offsets_or_rejected(text):
    try:
        steps = steps_of(text)
    except KoalaError:
        return
    assert all(step.strip() == step and step for step in steps)
