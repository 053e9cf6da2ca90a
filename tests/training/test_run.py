import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from koala.corpora import Corpus  # noqa: E402
from koala.corpora.jsonl import write_examples  # noqa: E402
from koala.corpora.leaderboard import read_grids  # noqa: E402
from koala.encoders.weights import CHECKPOINTS, WEIGHTS  # noqa: E402
from koala.errors import FileError, KoalaError  # noqa: E402
from koala.evaluation import score  # noqa: E402
from koala.settings import read_settings  # noqa: E402
from koala.settings.toml import read_values  # noqa: E402
from koala.training.log import LOG, read_log  # noqa: E402
from koala.training.loop import Training  # noqa: E402
from koala.training.report import CURVE, REPORT, VITERBI, read_report  # noqa: E402
from koala.training.run import (  # noqa: E402
    ORIGIN,
    DataSource,
    check_folder,
    leave_out_fields,
    train,
)
from koala.training.sweep import (  # noqa: E402
    find_corpus_name,
    read_ablation,
    read_row,
    render_table,
    run_ablation,
    write_ablation,
)

from .. import tiny  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="module")
def settings(folder):
    return tiny.build_settings(tiny.build_encoder(folder / "encoder"), tiny.build_store(folder))


@pytest.fixture(scope="module")
def source():
    return DataSource(tiny.build_corpus())


@pytest.fixture(scope="module")
def report(settings, source, folder):
    return train(settings, source, folder / "run")


def test_a_run_writes_scores_predictions_and_a_curve(report, source, folder):
    run = folder / "run"
    assert read_report(run) == report
    gold = {example.procedure.id: example.gold for example in source.corpus.splits["dev"]}
    again = score(read_grids(run / f"{VITERBI}.tsv"), gold)
    assert report.document["overall"] == again.to_dict()["overall"]
    assert (run / CURVE).read_text().startswith("<?xml")
    assert 0 < report.peak_memory_mb < 6000
    assert report.attention["steps"] > 0
    assert 0 <= report.attention["top"] <= 1


@pytest.mark.usefixtures("report")
def test_a_run_is_not_overwritten(settings, source, folder):
    with pytest.raises(FileError, match="--resume"):
        train(settings, source, folder / "run")
    other = replace(settings, loss=replace(settings.loss, attention=0.1))
    with pytest.raises(FileError, match="different settings"):
        train(other, source, folder / "run", resume=True)


@pytest.mark.usefixtures("report")
def test_a_resumed_run_names_the_settings_that_differ(settings, folder):
    batch, name = settings.training.batch, settings.encoder.name
    other = replace(
        settings,
        encoder=replace(settings.encoder, name="other"),
        training=replace(settings.training, batch=batch + 1, patience=1, epochs=9),
    )
    with pytest.raises(FileError) as caught:
        check_folder(folder / "run", other, resume=True)
    # Patience and epochs may change.
    assert str(caught.value) == (
        f"{folder / 'run'}: holds a run with different settings (encoder.name: {name!r} there, "
        f"'other' here; training.batch: {batch} there, {batch + 1} here). Resume with those, or "
        "choose another folder."
    )


def test_a_file_in_place_of_the_folder_is_refused(settings, source, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileError, match="this is a file"):
        train(settings, source, tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_run_that_failed_to_begin_leaves_its_folder_usable(settings, source, tmp_path):
    wrong = replace(settings, encoder=replace(settings.encoder, name=str(tmp_path / "none")))
    with pytest.raises(KoalaError):
        train(wrong, source, tmp_path / "run")
    assert train(settings, source, tmp_path / "run").epoch


def test_a_finished_run_can_be_given_more_epochs(settings, source, tmp_path):
    shorter = replace(settings, training=replace(settings.training, epochs=1))
    train(shorter, source, tmp_path)
    train(settings, source, tmp_path, resume=True)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2


def test_another_corpus_or_different_data_is_refused(settings, source, tmp_path):
    recipes = DataSource(replace(source.corpus, name="recipes"))
    with pytest.raises(KoalaError, match="for the corpus propara, but recipes was given"):
        train(settings, recipes, tmp_path)
    train(settings, source, tmp_path)
    splits = {**source.corpus.splits, "dev": source.corpus.splits["dev"][1:]}
    fold = DataSource(replace(source.corpus, splits=splits))
    with pytest.raises(FileError, match=r"different data or weights \(dev\)"):
        train(settings, fold, tmp_path, resume=True)


def test_a_corpus_needs_dev_and_gold(settings, source, tmp_path):
    examples = source.corpus.splits["train"]
    for splits, message in (
        ({"train": examples}, "no dev split"),
        ({"train": examples, "dev": (replace(examples[0], gold=None),)}, "no gold grid"),
    ):
        with pytest.raises(KoalaError, match=message):
            train(settings, DataSource(replace(source.corpus, splits=splits)), tmp_path)


def test_with_a_linear_schedule_epochs_cannot_be_added(settings, source, tmp_path):
    falling = replace(settings, training=replace(settings.training, schedule="linear", epochs=1))
    train(falling, source, tmp_path)
    longer = replace(falling, training=replace(falling.training, epochs=2))
    with pytest.raises(FileError, match=r"training\.epochs: 1 there, 2 here"):
        train(longer, source, tmp_path, resume=True)


def test_a_run_cannot_be_resumed_with_different_weights(settings, source, tmp_path):
    stage = tmp_path / "stage"
    shutil.copytree(settings.encoder.name, stage)
    begun = replace(settings, encoder=replace(settings.encoder, weights=str(stage)))
    train(begun, source, tmp_path / "run")
    weights = load_file(stage / WEIGHTS)
    name = next(name for name in weights if weights[name].is_floating_point())
    save_file({**weights, name: weights[name] + 1}, stage / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(FileError, match=r"different data or weights \(text\)"):
        train(begun, source, tmp_path / "run", resume=True)


def test_a_run_cannot_be_resumed_with_different_extra_texts(settings, source, tmp_path):
    grids = tmp_path / "grids.jsonl"
    grids.write_text(write_examples(source.corpus.splits["train"]))
    begun = replace(settings, training=replace(settings.training, extra=str(grids)))
    train(begun, source, tmp_path / "run")
    origin = tmp_path / "run" / ORIGIN
    recorded = json.loads(origin.read_text())
    assert recorded.keys() == {"train", "dev", "knowledge", "extra"}
    # A run of an earlier version, which did not record its extra texts, can be resumed.
    origin.write_text(json.dumps({n: d for n, d in recorded.items() if n != "extra"}))
    train(begun, source, tmp_path / "run", resume=True)
    origin.write_text(json.dumps(recorded))
    grids.write_text(grids.read_text().splitlines()[0] + "\n")
    with pytest.raises(FileError, match=r"different data or weights \(extra\)"):
        train(begun, source, tmp_path / "run", resume=True)


def test_weights_of_an_unfinished_stage_are_refused(settings, source, tmp_path):
    stage = tmp_path / "stage"
    shutil.copytree(settings.encoder.name, stage)
    (stage / CHECKPOINTS).mkdir()
    begun = replace(settings, encoder=replace(settings.encoder, weights=str(stage)))
    with pytest.raises(FileError, match="not finished"):
        train(begun, source, tmp_path / "run")


def write_table(folder: Path, settings) -> Path:
    (folder / "base.toml").write_text(settings.to_toml())
    (folder / "other.toml").write_text('extends = "base.toml"\nreproduces = "x"\n')
    table = folder / "table.toml"
    table.write_text(
        """reproduces = "A table"
seeds = [0, 1]
[[row]]
name = "KoaLa"
settings = "base.toml"
paper_f1 = 70.4
[[row]]
name = "− ConceptNet"
settings = "other.toml"
[row.knowledge]
is_used = false
"""
    )
    return table


@pytest.fixture(scope="module")
def ablated(settings, source, tmp_path_factory):
    """A table, its results and the folder of its runs."""
    folder = tmp_path_factory.mktemp("ablation")
    ablation = read_ablation(write_table(folder, settings))
    return ablation, run_ablation(ablation, source, folder / "runs"), folder / "runs"


def test_an_ablation_runs_every_row_and_seed_once(ablated, source):
    ablation, results, runs = ablated
    assert [len(result.reports) for result in results] == [2, 2]
    assert {report.seed for report in results[0].reports} == {0, 1}
    assert results[1].reports[0].attention is None
    write_ablation(ablation, results, source, runs)
    table = render_table(ablation, results)
    assert (runs / f"{ablation.path.stem}.md").read_text() == table
    f1 = [100 * r.document["overall"]["f1"] for r in results[0].reports]
    assert f"{sum(f1) / 2:.1f} ±" in table
    last = [read_log(runs / f"koala-seed{seed}" / LOG)[-1].f1 for seed in (0, 1)]
    assert f"| {50 * sum(last):.1f} ±" in table
    assert "| 70.4 |" in table
    for name in ("actions", "questions-f1", "questions-precision", "questions-recall"):
        assert "− ConceptNet" in (runs / f"{ablation.path.stem}-{name}.svg").read_text()
    # The second time nothing is trained, and the results are the same.
    messages = []
    again = run_ablation(ablation, source, runs, tell=messages.append)
    assert again == results
    assert len(messages) == 4


def test_a_finished_row_with_different_settings_is_refused(settings, source, ablated, tmp_path):
    _, _, runs = ablated
    other = replace(settings, loss=replace(settings.loss, location=0.7))
    changed = read_ablation(write_table(tmp_path, other))
    with pytest.raises(FileError, match=r"loss\.location: 0\.3 there, 0\.7 here"):
        run_ablation(changed, source, runs)


def test_an_unfinished_row_is_resumed(ablated, source):
    ablation, first, runs = ablated
    (runs / "koala-seed0" / REPORT).unlink()
    again = run_ablation(ablation, source, runs)
    assert (runs / "koala-seed0" / REPORT).is_file()
    assert again[0].reports[0].document == first[0].reports[0].document


def test_the_rows_of_a_table_must_be_for_one_corpus(settings, tmp_path):
    ablation = read_ablation(write_table(tmp_path, settings))
    assert find_corpus_name(ablation) == "propara"
    other = tmp_path / "other.toml"
    other.write_text('corpus = "recipes"\n' + other.read_text())
    with pytest.raises(FileError, match="several corpora"):
        find_corpus_name(ablation)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seeds = [0]", r"no \[\[row\]\]"),
        ("[[row]]\nname = 'a'\nsettings = 'b'", "seeds is None"),
        ("seeds = ['a']\n[[row]]\nname = 'a'", "seeds is"),
        ("seeds = [0]\n[[row]]\nnme = 'a'", "nme is unknown"),
        ("seeds = [0]\n[[row]]\nname = 'a'", "settings"),
        ("seeds = [", "Not TOML"),
    ],
)
def test_a_bad_table_is_refused(text, message, tmp_path):
    (tmp_path / "t.toml").write_text(text)
    with pytest.raises(FileError, match=message):
        read_ablation(tmp_path / "t.toml")


CONFIGS = sorted(Path(__file__).parents[2].joinpath("configs").rglob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_settings_file_can_be_read_and_has_a_description(path):
    if path.parent.name == "pretraining":
        from koala.settings.pretraining import read_pretraining_settings

        assert read_pretraining_settings(path).reproduces
    elif "row" in read_values(path):
        table = read_ablation(path)
        assert table.reproduces
        for row in table.rows:
            assert read_row(table, row)
    else:
        assert read_settings(path).reproduces


def test_every_epoch_samples_extra_texts(settings, source, tmp_path):
    grids = [example.gold for example in source.corpus.splits["train"]]
    many = [replace(grid, id=f"{grid.id}-{copy}") for copy in range(4) for grid in grids]
    (tmp_path / "made.jsonl").write_text("".join(grid.to_json() + "\n" for grid in many))
    extra = str(tmp_path / "made.jsonl")
    changed = replace(
        settings, training=replace(settings.training, extra=extra, extra_share=0.5, epochs=1)
    )
    data = source.get(changed)
    assert len(data.extra) == 4 * len(data.train)
    assert source.get(settings).extra == ()
    training = Training(changed, data, tmp_path / "run")
    sampled = training._sample_extra(1)
    assert 0 < len(sampled) <= len(data.train) / 2
    assert sampled == training._sample_extra(1)
    assert training.run().epoch == 1


def test_the_epoch_can_be_selected_by_mbr_f1(settings, source, tmp_path):
    training = replace(settings.training, selection="mbr", epochs=3, patience=3)
    report = train(replace(settings, training=training), source, tmp_path / "run")
    lines = read_log(tmp_path / "run" / "log.jsonl")
    figures = [line.mbr_f1 for line in lines]
    assert len(figures) == 3
    assert report.epoch == 1 + figures.index(max(figures))
    assert report.mbr["f1"] == pytest.approx(max(figures))
    assert all(temperature > 0 for temperature in report.temperatures)


def test_fields_are_left_out_of_training_but_not_of_dev(settings):
    examples = [
        replace(each, procedure=replace(each.procedure, id=f"{field}/{each.procedure.id}"))
        for field, each in zip(
            ("kitchen", "wet-lab", "garden"), tiny.build_corpus().take("train"), strict=True
        )
    ]
    corpus = Corpus("written", {"train": tuple(examples), "dev": tuple(examples)})
    left, extra = leave_out_fields(corpus, examples, ["wet-lab", "garden"])
    assert [e.procedure.id for e in left.take("train")] == ["kitchen/rain"]
    assert [e.procedure.id for e in extra] == ["kitchen/rain"]
    assert left.take("dev") == tuple(examples)
    without = replace(settings.training, without_fields="wet-lab")
    data = DataSource(corpus).get(replace(settings, training=without))
    assert {item.procedure.id for item in data.train} == {"kitchen/rain", "garden/sugar"}
    with pytest.raises(KoalaError, match="these fields: garden, kitchen, wet-lab"):
        leave_out_fields(corpus, [], ["lab"])


def test_a_table_extends_another_and_its_rows_override_it(tmp_path):
    (tmp_path / "base.toml").write_text("corpus = 'propara'\n[training]\nepochs = 3\n")
    rows = "[[row]]\nname = 'a'\n[[row]]\nname = 'b'\ntraining = { batch = 4 }\n"
    (tmp_path / "one.toml").write_text(
        f"settings = 'base.toml'\nseeds = [0]\n[training]\nbatch = 8\n{rows}"
    )
    (tmp_path / "two.toml").write_text(
        "extends = 'one.toml'\n[training]\npatience = 2\n[encoder]\nname = 'x'\n"
    )
    table = read_ablation(tmp_path / "two.toml")
    first, second = (read_row(table, row, seed=5) for row in table.rows)
    assert (first.training.batch, second.training.batch) == (8, 4)
    assert {each.training.patience for each in (first, second)} == {2}
    assert (first.encoder.name, first.training.epochs, first.training.seed) == ("x", 3, 5)
    assert [row.name for row in table.choose(["b"]).rows] == ["b"]
    with pytest.raises(KoalaError, match="no row 'c'"):
        table.choose(["c"])


def test_retrieved_triples_are_found_by_the_ids_of_the_procedures(settings, source, tmp_path):
    path = str(tiny.write_retrieved(tmp_path / "retrieved.jsonl"))
    knowledge = replace(settings.knowledge, retrieved=path)
    data = source.get(replace(settings, knowledge=knowledge))
    assert all(item.triples for item in (*data.train, *data.dev))
    (tmp_path / "other.jsonl").write_text('{"id": "x", "entity": "y", "triples": []}\n')
    other = replace(settings.knowledge, retrieved=str(tmp_path / "other.jsonl"))
    with pytest.raises(KoalaError, match="no triples for any entity"):
        source.get(replace(settings, knowledge=other))
