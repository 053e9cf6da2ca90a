"""The settings files of the paper, tried with tiny random encoders."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from koala.settings import read_settings  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import Training  # noqa: E402
from koala.training.sweep import read_ablation, read_row  # noqa: E402

from .. import tiny  # noqa: E402

PAPER = Path(__file__).parents[2] / "configs" / "paper" / "propara" / "koala-bert.toml"


@pytest.fixture
def settings(tmp_path):
    encoder = str(tiny.build_encoder(tmp_path / "encoder"))
    paper = read_settings(PAPER)
    return replace(
        paper,
        encoder=replace(paper.encoder, name=encoder, weights=None),
        knowledge=replace(
            paper.knowledge, encoder=encoder, weights=None, store=str(tiny.build_store(tmp_path))
        ),
        training=replace(paper.training, epochs=1),
    )


def test_every_weight_learns_at_one_constant_rate(settings, tmp_path):
    data = build_training_data(tiny.build_corpus(), settings)
    training = Training(settings, data, tmp_path / "run")
    before = {name: value.clone() for name, value in training.model.named_parameters()}
    assert [group["lr"] for group in training.optimizer.param_groups] == [3e-5]
    training.run()
    assert [group["lr"] for group in training.optimizer.param_groups] == [3e-5]
    for encoder in ("text_encoder.transformer", "triple_encoder.transformer"):
        names = [name for name in before if name.startswith(f"{encoder}.encoder.layer.0")]
        now = dict(training.model.named_parameters())
        assert any(not torch.equal(before[name], now[name]) for name in names), encoder


def test_dropout_is_where_the_published_code_has_it(settings, tmp_path):
    data = build_training_data(tiny.build_corpus(), settings)
    model = Training(settings, data, tmp_path / "run").model
    rates = {
        name: module.p
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout) and ".transformer." not in name
    }
    wanted = {
        "text_encoder.dropout",
        "states.dropout",
        "locations.dropout",
        "states.injector.dropout",
        "locations.injector.dropout",
        "triple_encoder.dropout",
        "triple_encoder.state_dropout",
    }
    assert {name for name, rate in rates.items() if rate == 0.4} == wanted


TABLES = [
    PAPER.parent / f"{regime}-{encoder}.toml"
    for regime in ("published", "long")
    for encoder in ("minilm", "mpnet")
]


def make_tiny(settings, folder):
    """Replace encoders, stages and sources of triples by tiny ones; keep all else."""
    encoder, knowledge = settings.encoder, settings.knowledge
    name = str(tiny.build_encoder(folder / "encoder"))
    retrieved = knowledge.retrieved and str(tiny.write_retrieved(folder / "retrieved.jsonl"))
    return replace(
        settings,
        encoder=replace(encoder, name=name, weights=None),
        knowledge=replace(
            knowledge,
            encoder=name,
            weights=None,
            retrieved=retrieved,
            store=str(tiny.build_store(folder)),
        ),
        training=replace(settings.training, epochs=1, precision="float32"),
    )


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_every_row_of_the_tables_trains(path, tmp_path):
    table = read_ablation(path)
    expected = "mpnet" if "mpnet" in path.stem else "minilm"
    for number, row in enumerate(table.rows):
        settings = read_row(table, row, seed=1)
        assert settings.encoder.name == expected
        assert settings.training.epochs == 20
        (tmp_path / str(number)).mkdir()
        small = make_tiny(settings, tmp_path / str(number))
        data = build_training_data(tiny.build_corpus(), small)
        has_triples = any(item.triples for item in data.train)
        assert has_triples == settings.knowledge.is_used
        training = Training(small, data, tmp_path / f"{number}-run")
        assert training.run().epoch == 1


def test_rows_differ_in_what_they_isolate_and_in_nothing_else():
    table = read_ablation(TABLES[0])
    rows = {row.name: read_row(table, row) for row in table.rows}
    koala, bare = rows["KoaLa"], rows["− ConceptNet & LM stages"]
    assert replace(bare, encoder=koala.encoder, knowledge=koala.knowledge) == koala
    assert replace(bare.encoder, weights=koala.encoder.weights) == koala.encoder
    gate = rows["Concatenation, no gate"]
    assert replace(gate, knowledge=replace(gate.knowledge, integration="gate")) == koala
    assert len(set(map(repr, rows.values()))) == len(rows)


def test_both_regimes_have_the_same_network_and_the_published_one_its_optimiser():
    published, long = (
        {row.name: read_row(table, row) for row in table.rows}
        for table in map(read_ablation, TABLES[:3:2])
    )
    for name, settings in published.items():
        assert replace(settings, training=long[name].training) == long[name]
    training = published["KoaLa"].training
    assert (training.shuffle, training.batch, training.schedule) == ("entities", 32, "constant")
    assert training.head_learning_rate is None
    assert long["KoaLa"].training.head_learning_rate == 3e-4
