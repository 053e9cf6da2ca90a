import json
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from koala.corpora import Corpus
from koala.corpora.leaderboard import read_grids
from koala.errors import FileError, KoalaError
from koala.evaluation import score
from koala.training.cross_validation import Folds, list_folds, render_folds, run_folds, write_folds
from koala.training.log import LOG, read_log
from koala.training.report import MBR, VITERBI, read_report
from koala.training.run import DataSource
from koala.training.sweep import read_ablation, read_row

from .. import tiny

TABLE = """\
reproduces = "A tiny table"
seeds = [5]

[training]
epochs = 2
selection = "last"

[[row]]
name = "base"
settings = "base.toml"

[[row]]
name = "other"
settings = "other.toml"
"""


def build_corpus():
    """Nine procedures with distinct ids, two of them in dev."""
    examples = [
        replace(
            example,
            procedure=replace(example.procedure, id=f"{example.procedure.id}-{copy}"),
            gold=replace(example.gold, id=f"{example.procedure.id}-{copy}"),
        )
        for copy in range(3)
        for example in tiny.build_corpus().splits["train"]
    ]
    return Corpus("propara", {"train": tuple(examples[2:]), "dev": tuple(examples[:2])})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("folds")
    settings = tiny.build_settings(tiny.build_encoder(folder / "encoder"), tiny.build_store(folder))
    (folder / "base.toml").write_text(settings.to_toml())
    other = replace(settings, decoder=replace(settings.decoder, reads="steps"))
    (folder / "other.toml").write_text(other.to_toml())
    (folder / "table.toml").write_text(TABLE)
    return folder


@pytest.fixture(scope="module")
def validated(folder):
    ablation = read_ablation(folder / "table.toml")
    return ablation, run_folds(
        ablation, DataSource(build_corpus()), folder / "runs", folds=Folds(2)
    )


def test_every_procedure_is_scored_once_by_a_network_not_trained_on_it(validated, folder):
    corpus = build_corpus()
    gold = {e.procedure.id: e.gold for split in corpus.splits.values() for e in split}
    for name, row in zip(("base", "other"), validated[1], strict=True):
        runs = [folder / "runs" / f"{name}-seed5-fold{number}of2" for number in (1, 2)]
        for kind, scores in ((VITERBI, row.viterbi), (MBR, row.mbr)):
            parts = [read_grids(run / f"{kind}.tsv") for run in runs]
            assert all(parts)
            assert sorted(id for part in parts for id in part) == sorted(gold)
            again = score(parts[0] | parts[1], gold)
            assert scores.overall == again.overall
            assert scores.signature == again.signature


def test_training_settings_of_the_table_hold_for_all_rows(validated, folder):
    ablation, _ = validated
    for row in ablation.rows:
        training = read_row(ablation, row, 5).training
        assert (training.epochs, training.selection, training.seed) == (2, "last", 5)
    (folder / "wrong.toml").write_text(TABLE.replace("epochs = 2", "epoch = 2"))
    wrong = read_ablation(folder / "wrong.toml")
    with pytest.raises(FileError, match=r"training\.epoch is unknown"):
        read_row(wrong, wrong.rows[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[training]", "[decoders]", "decoders is unknown"),
        ("epochs = 2", "seed = 2", "without a seed"),
        ("[training]\nepochs = 2\nselection", "training = 3\n# selection", "must be a table"),
    ],
)
def test_a_table_with_wrong_values_is_refused(old, new, message, tmp_path):
    (tmp_path / "table.toml").write_text(TABLE.replace(old, new))
    with pytest.raises(FileError, match=message):
        read_ablation(tmp_path / "table.toml")


def test_too_many_folds_are_refused_before_the_first_run(folder):
    ablation = read_ablation(folder / "table.toml")
    with pytest.raises(KoalaError, match="too many for 9 procedures"):
        run_folds(ablation, DataSource(build_corpus()), folder / "none", folds=Folds(50))
    assert not (folder / "none").exists()


@pytest.mark.usefixtures("validated")
def test_selection_last_selects_the_last_epoch(folder):
    run = folder / "runs" / "base-seed5-fold1of2"
    lines = read_log(run / LOG)
    report = read_report(run)
    assert len(lines) == report.epoch == 2
    assert report.document["overall_unrounded"]["f1"] == pytest.approx(lines[-1].f1)
    assert report.nll[0] <= lines[-1].tag_nll + 1e-9
    assert report.nll[1] <= lines[-1].location_nll + 1e-9


def test_rows_are_compared_with_the_first(validated, folder):
    ablation, rows = validated
    write_folds(ablation, rows, Folds(2), folder / "runs")
    table = (folder / "runs" / "table-2-folds.md").read_text()
    assert table == render_folds(ablation, rows, Folds(2))
    values = json.loads((folder / "runs" / "table-2-folds.json").read_text())
    assert values == json.loads(json.dumps(list_folds(rows)))
    assert values[0]["compare"] is None
    assert "; scores of the last epoch." in table
    compared = values[1]["compare"]
    gain = rows[1].mbr.overall.f1 - rows[0].mbr.overall.f1
    assert compared["f1_difference"] == pytest.approx(gain)
    assert compared["low"] <= compared["f1_difference"] <= compared["high"]
    assert f"{100 * gain:+.1f} (" in table


def test_a_finished_table_is_not_trained_again(validated, folder):
    ablation, rows = validated
    times = {path: path.stat().st_mtime_ns for path in (folder / "runs").glob("*/last.safetensors")}
    assert len(times) == 4
    again = run_folds(ablation, DataSource(build_corpus()), folder / "runs", folds=Folds(2))
    assert {path: path.stat().st_mtime_ns for path in times} == times
    assert render_folds(ablation, again, Folds(2)) == render_folds(ablation, rows, Folds(2))


def test_a_subset_of_folds_can_be_scored(validated, folder):
    ablation, _ = validated
    only = Folds(2, (2,))
    rows = run_folds(ablation, DataSource(build_corpus()), folder / "runs", folds=only)
    own = read_grids(folder / "runs" / "base-seed5-fold2of2" / f"{MBR}.tsv")
    gold = {e.procedure.id: e.gold for split in build_corpus().splits.values() for e in split}
    again = score(own, {id: gold[id] for id in own})
    assert 0 < len(own) < len(gold)
    assert rows[0].mbr.overall == again.overall
    write_folds(ablation, rows, only, folder / "runs")
    assert "in fold 2 of 2; scores of" in (folder / "runs" / "table-2-folds-2.md").read_text()
