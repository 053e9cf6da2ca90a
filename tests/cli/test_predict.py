import json

import pytest

from koala.bundled.examples import read_example
from koala.cli.predict import read_procedures
from koala.corpora.jsonl import read_examples as read_koala_examples
from koala.corpora.leaderboard import fill_template
from koala.corpora.recipes import read_examples, write_grids
from koala.evaluation import score_recipes
from koala.registry import load


@pytest.fixture
def recipes(tmp_path):
    """Write the bundled recipes in the format of the corpus, with their own grids as gold."""
    path = tmp_path / "recipes.jsonl"
    path.write_text(write_grids([read_example("pancakes"), read_example("soup")], has_text=True))
    return path


def test_recipes_are_predicted_in_the_format_of_the_corpus(koala, recipes, tmp_path):
    out = tmp_path / "predictions.jsonl"
    done = koala("predict", "--corpus", "recipes", "--input", recipes, "-o", out)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert {"para_id", "participants", "locations"} <= lines[0].keys()
    grids = [{e.procedure.id: e.gold for e in read_examples(path)} for path in (out, recipes)]
    scores = score_recipes(*grids)
    # These recipes are in no training data.
    assert scores.overall.f1 > 0.6
    done = koala("evaluate", out, "--gold", recipes)
    assert scores.signature in done.stdout


def test_a_step_moves_all_its_ingredients_to_one_location(koala, recipes, tmp_path):
    out = tmp_path / "predictions.jsonl"
    koala("predict", "--corpus", "recipes", "--input", recipes, "-o", out)
    for example in read_examples(out):
        rows = [row.locations for row in example.gold.rows]
        for before, after in zip(range(len(rows[0])), range(1, len(rows[0])), strict=False):
            new = {row[after] for row in rows if row[after] not in (row[before], "-", "?")}
            assert len(new) <= 1


def test_recipes_need_input(koala, recipes, tmp_path):
    done = koala("predict", "--corpus", "recipes", "--sentences", recipes, "--template", recipes,
                 "-o", tmp_path / "p")  # fmt: skip
    assert done.returncode != 0
    assert "--input" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--questions", "--prompts"])
def test_questions_need_a_template_under_both_names_of_the_option(koala, recipes, tmp_path, option):
    done = koala("predict", "--input", recipes, option, recipes, "-o", tmp_path / "p")
    assert done.returncode == 2
    assert "--template and --questions" in " ".join(done.stderr.split())


LINES = [
    {"id": "a", "text": "Hello."},
    {"id": "b", "text": "Roots absorb water. It flows to the leaf.", "entities": ["water"]},
    {"id": "c", "text": "The river carries sand to the sea. The sand sinks."},
]


def test_a_procedure_without_any_entity_has_an_empty_grid(koala, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    done = koala("predict", "--input", source, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "Finding entities for 2 of 3 procedures" in done.stderr
    grids = [json.loads(line) for line in out.read_text().splitlines()]
    assert [grid["id"] for grid in grids] == ["a", "b", "c"]
    assert grids[0]["entities"] == []
    assert grids[0]["signature"] == grids[1]["signature"]
    assert all(grid["entities"] for grid in grids[1:])
    # `-` is stdin and stdout.
    done = koala("predict", "--input", "-", "-o", "-", stdin=source.read_bytes())
    assert done.stdout == out.read_text()
    # Also if no procedure has an entity.
    source.write_text(json.dumps(LINES[0]) + "\n")
    done = koala("predict", "--input", source, "-o", "-")
    assert json.loads(done.stdout) == grids[0]


def test_grids_can_be_sampled(koala, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    done = koala("predict", "--input", source, "-o", out, "--samples", "3")
    assert done.returncode == 0, done.stderr
    grids = [json.loads(line) for line in out.read_text().splitlines()]
    ids = [f"{id}#{number}" for id in "bc" for number in (1, 2, 3)]
    assert sorted(grid["id"] for grid in grids) == ids
    [*_, last] = [example.gold for example in read_koala_examples(out)]
    assert last.rows
    for words in (
        ("--input", source, "--decoding", "viterbi"),
        ("--sentences", source, "--template", source),
        ("--input", source, "--corpus", "recipes"),
    ):
        done = koala("predict", *words, "-o", tmp_path / "none", "--samples", "3")
        assert done.returncode == 2
        assert "--samples needs --input" in done.stderr


def test_the_recipes_model_cannot_be_sampled(koala, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps(LINES[1]) + "\n")
    done = koala("predict", "--input", source, "-o", tmp_path / "none", "--samples", "1",
                 "--model", "recipes")  # fmt: skip
    assert done.returncode == 2
    assert "grids can be sampled only" in done.stderr


def test_only_one_output_can_go_to_stdout(koala, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = json.dumps(LINES[1]).encode()
    done = koala("predict", "--input", "-", "-o", "-", "--probabilities", "-", stdin=line)
    assert done.returncode == 2
    assert "cannot both go to stdout" in done.stderr
    done = koala("predict", "--input", "-", "-o", "p", "--probabilities", "-", stdin=line)
    assert json.loads(done.stdout)["entity"] == "water"
    assert [path.name for path in tmp_path.iterdir()] == ["p"]


TEMPLATE = {"4": ["oil", "water"], "7": ["sand"]}
TEXTS = {"4": ["Oil flows to the sea.", "Water rises from the sea to the cloud."], "7": ["Sand."]}


@pytest.fixture
def template(tmp_path):
    """Write a template with three entities, and its sentences; the longer text comes first."""
    rows = [
        f"{id}\t{step}\t{name}\tNONE\t\t\n"
        for id, names in TEMPLATE.items()
        for name in names
        for step in range(1, len(TEXTS[id]) + 1)
    ]
    lines = [f"{id}\t{n}\t{line}\n" for id, text in TEXTS.items() for n, line in enumerate(text, 1)]
    (tmp_path / "template.tsv").write_text("".join(rows))
    (tmp_path / "sentences.tsv").write_text("".join(lines))
    return ("--sentences", tmp_path / "sentences.tsv", "--template", tmp_path / "template.tsv")


def test_probabilities_are_in_the_order_of_the_template(koala, template, tmp_path):
    out = tmp_path / "q.jsonl"
    done = koala("predict", *template, "-o", tmp_path / "p.tsv", "--probabilities", out)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    wanted = [(id, name) for id, names in TEMPLATE.items() for name in names]
    assert [(line["id"], line["entity"]) for line in lines] == wanted
    for line in lines:
        assert len(line["tags"]) == len(line["locations"]) - 1 == len(TEXTS[line["id"]])
        for entry in (*line["tags"], *line["locations"]):
            assert sum(entry.values()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("output", "probabilities", "problem"),
    [
        ("template.tsv", "q.jsonl", "would overwrite an input"),
        ("p.tsv", "sentences.tsv", "would overwrite an input"),
        ("same", "same", "would be written twice"),
        ("none/p.tsv", "q.jsonl", "its folder is missing"),
        ("p.tsv", ".", "this is a folder"),
    ],
)
def test_outputs_are_checked_first(koala, template, tmp_path, output, probabilities, problem):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = ("-o", tmp_path / output, "--probabilities", tmp_path / probabilities)
    # The model does not exist, but is not even looked for.
    done = koala("predict", *template, *words, "--model", "nothing")
    assert done.returncode == 2
    assert problem in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_templates_are_decoded_by_mbr_unless_another_decoding_is_given(koala, template, tmp_path):
    procedures = read_procedures(template[1], template[3], None)
    tracker = load()
    # "own" is the name of Viterbi decoding in earlier versions.
    for words, decoding in (((), "mbr"), (("--decoding", "own"), "viterbi")):
        out = tmp_path / "p.tsv"
        done = koala("predict", *template, "-o", out, *words)
        assert done.returncode == 0, done.stderr
        assert f"Decoding: {decoding}." in done.stderr
        grids = tracker.with_decoding(decoding).track_all(procedures)
        assert out.read_text() == fill_template(template[3], {grid.id: grid for grid in grids})


def test_the_recipes_model_refuses_decodings_of_propara(koala, recipes, tmp_path):
    done = koala("predict", "--corpus", "recipes", "--input", recipes, "-o", tmp_path / "p",
                 "--decoding", "repair")  # fmt: skip
    assert done.returncode == 2
    assert "koala-recipes does not support the decoding 'repair'" in done.stderr
