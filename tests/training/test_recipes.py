import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from koala.corpora import read_corpus  # noqa: E402
from koala.corpora.formats import read_any_grids  # noqa: E402
from koala.errors import KoalaError  # noqa: E402
from koala.evaluation import score_recipes  # noqa: E402
from koala.registry import load  # noqa: E402
from koala.settings import TextSettings  # noqa: E402
from koala.training.export.release import release  # noqa: E402
from koala.training.report import VITERBI  # noqa: E402
from koala.training.run import DataSource, train  # noqa: E402
from koala.training.sweep import (  # noqa: E402
    Ablation,
    AblationRow,
    RowResult,
    render_table,
)

from .. import tiny  # noqa: E402

# Sentences; for each ingredient its locations and the steps that use it (E).
PANCAKES = (
    ["mix the flour and the milk in a bowl .", "heat the oil in a pan .", "pour the batter in ."],
    {
        "wheat flour": (["-", "bowl", "bowl", "pan"], "EOE"),
        "milk": (["-", "bowl", "bowl", "pan"], "EOE"),
        "olive oil": (["-", "-", "pan", "pan"], "OEE"),
        "salt": (["-", "-", "-", "-"], "OOO"),
    },
)
SALAD = (
    ["wash the lettuce .", "add oil and salt .", "refrigerate until cold ."],
    {
        "lettuce": (["-", "?", "?", "fridge"], "EEE"),
        "oil": (["-", "-", "?", "fridge"], "OEE"),
        "salt": (["-", "-", "?", "fridge"], "OEE"),
    },
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    lines = []
    for name, (sentences, rows) in {"pancakes": PANCAKES, "salad": SALAD}.items():
        value = {"para_id": None, "name": name, "sentences": sentences, "participants": list(rows)}
        value["locations"] = [locations for locations, _ in rows.values()]
        value["exist"] = [list(participation) for _, participation in rows.values()]
        lines.append(json.dumps(value) + "\n")
    for split in ("train", "dev"):
        (folder / f"{split}.jsonl").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    base = tiny.build_settings(
        tiny.build_encoder(folder / "encoder"), None, epochs=60, head_learning_rate=1e-2
    )
    settings = replace(
        base,
        corpus="recipes",
        text=TextSettings(mentions="parts", locations="nouns", known_locations="? bowl fridge"),
        encoder=replace(base.encoder, entity="listed"),
        decoder=replace(
            base.decoder,
            tags="participation",
            reads="steps",
            step_width=16,
            locations="scorer",
            crf_start="counts",
            has_legal_crf=True,
        ),
    )
    source = DataSource(read_corpus(corpus))
    return settings, source, folder / "run", train(settings, source, folder / "run")


def test_a_model_can_memorise_two_recipes(run, corpus):
    _, _, folder, report = run
    assert report.document["overall"]["f1"] == 1.0
    assert report.sentence == {}
    # Including a location that the text does not name and an ingredient that no step uses.
    found = read_any_grids(folder / f"{VITERBI}.jsonl")
    gold = read_any_grids(corpus / "dev.jsonl")
    assert score_recipes(found, gold).signature == report.signature
    assert found["salad"]["oil"].locations[-1] == "fridge"
    assert set(found["pancakes"]["salt"].locations) == {"-"}


def test_the_exported_network_gives_the_same_grids(run, tmp_path):
    _, source, folder, report = run
    card = release([folder], source, tmp_path, "tiny")
    assert card.scores["f1"] == report.document["overall"]["f1"]
    tracker = load(tmp_path)
    examples = source.corpus.splits["dev"]
    grids = tracker.track_all([example.procedure for example in examples])
    assert [[row.locations for row in grid.rows] for grid in grids] == [
        [row.locations for row in example.gold.rows] for example in examples
    ]
    cells = [cell for grid in grids for row in grid.rows for cell in row.steps]
    assert all(0 <= cell.confidence <= 1 for cell in cells)


def test_a_table_of_recipes_has_no_categories(run, tmp_path):
    report = run[3]
    result = RowResult(AblationRow("NCET", "ncet.toml", paper_f1=50.9), (report,))
    table = render_table(Ablation(tmp_path, "", (0,), (result.row,)), [result])
    assert "Cat-1" not in table
    assert (
        f"| NCET {3 * '| 100.0 ± 0.0 '}| {100 * report.last_f1:.1f} ± 0.0 |  |  | 50.9 |" in table
    )


def test_participation_tags_need_a_corpus_with_participation(run):
    settings, _, _, _ = run
    with pytest.raises(KoalaError, match="which steps use"):
        DataSource(tiny.build_corpus()).get(settings)
