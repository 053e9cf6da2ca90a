from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402

from koala.document import Procedure, Span, Step, annotate, build_entity  # noqa: E402
from koala.errors import FileError  # noqa: E402
from koala.grid import Grid, Row  # noqa: E402
from koala.grid.states import ABSENT, UNKNOWN, Action  # noqa: E402
from koala.inference.predict import predict_grids  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.settings import Settings  # noqa: E402
from koala.training.checkpoint import (  # noqa: E402
    BEST,
    LAST,
    Progress,
    load_checkpoint,
    read_checkpoint_settings,
    save_checkpoint,
)
from koala.training.data import add_gold_candidates, build_training_data  # noqa: E402
from koala.training.interpolation import interpolate_runs  # noqa: E402
from koala.training.loop import Training  # noqa: E402
from koala.training.optimizer import set_rates  # noqa: E402
from koala.training.run import SETTINGS  # noqa: E402

from .. import tiny  # noqa: E402


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return tiny.build_settings(tiny.build_encoder(folder / "encoder"), tiny.build_store(folder))


@pytest.fixture(scope="module")
def data(base):
    return build_training_data(tiny.build_corpus(), base)


def with_training(settings: Settings, **changes) -> Settings:
    return replace(settings, training=replace(settings.training, **changes))


def test_a_model_can_memorise_a_few_procedures(base, data, tmp_path):
    settings = with_training(base, epochs=60, patience=10, batch=6, learning_rate=1e-2)
    training = Training(settings, data, tmp_path)
    training.run()
    load_checkpoint(tmp_path / BEST, training.model)
    grids = predict_grids(training.scorer, data.dev)
    gold = data.dev_gold
    pairs = [
        (ours, theirs)
        for grid in grids
        for row, gold_row in zip(grid.rows, gold[grid.id].rows, strict=True)
        for ours, theirs in zip(row.tags, gold_row.tags, strict=True)
    ]
    assert sum(ours == theirs for ours, theirs in pairs) / len(pairs) >= 0.98
    assert all(row.problem is None for grid in grids for row in grid.rows)


@pytest.mark.parametrize(
    ("changes", "is_killed"),
    [({}, True), ({"ema_decay": 0.9, "schedule": "linear", "layer_decay": 0.8}, False)],
)
def test_stopped_and_resumed_training_gives_the_same_weights(
    base, data, tmp_path, changes, is_killed
):
    settings = replace(
        with_training(base, epochs=4, **changes), encoder=replace(base.encoder, dropout=0.4)
    )
    Training(settings, data, tmp_path / "whole").run()
    first = Training(settings, data, tmp_path / "parts")
    messages = []

    def stop_after_two(line):
        messages.append(line)
        if len(messages) == 2:
            raise KeyboardInterrupt

    if is_killed:
        with pytest.raises(KeyboardInterrupt):
            first.run(tell=stop_after_two)
    else:
        first.run(until=2)
    again = Training(settings, data, tmp_path / "parts")
    again.resume()
    assert again.progress.epoch == 2
    again.run()
    for file in (LAST, BEST):
        one, other = (load_file(tmp_path / name / file) for name in ("whole", "parts"))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    logs = [(tmp_path / name / "log.jsonl").read_text().count("\n") for name in ("whole", "parts")]
    assert logs == [4, 4]


def test_training_starts_from_the_matching_weights_of_another_run(base, data, tmp_path):
    Training(with_training(base, epochs=1), data, tmp_path / "first").run()
    saved = load_file(tmp_path / "first" / BEST)
    changed = replace(
        with_training(base, start=str(tmp_path / "first"), seed=7),
        decoder=replace(base.decoder, locations="scorer"),
    )
    begun = Training(changed, data, tmp_path / "second").model.state_dict()
    same = {
        name
        for name, value in begun.items()
        if f"model.{name}" in saved and torch.equal(value, saved[f"model.{name}"])
    }
    assert {"states.output.weight", "text_encoder.lstm.lstm.weight_ih_l0"} <= same
    assert "locations.output.weight" not in same
    assert not begun["crf.transitions"].any()
    assert saved["model.crf.transitions"].any()


def test_a_start_with_a_different_meaning_of_tags_is_refused(base, data, tmp_path):
    with pytest.raises(FileError, match="no such checkpoint"):
        Training(with_training(base, start=str(tmp_path / "none")), data, tmp_path / "run")
    participation = replace(base, decoder=replace(base.decoder, tags="participation"))
    save_checkpoint(tmp_path / BEST, build_model(participation), participation, Progress())
    with pytest.raises(FileError, match=r"decoder\.tags is 'participation' there"):
        Training(with_training(base, start=str(tmp_path)), data, tmp_path / "run")


def test_the_same_seed_gives_the_same_weights_and_another_does_not(base, data, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        Training(with_training(base, epochs=1, seed=seed), data, tmp_path / name).run()
    a, b, c = (load_file(tmp_path / name / LAST) for name in "abc")
    key = "model.states.output.weight"
    assert torch.equal(a[key], b[key])
    assert not torch.equal(a[key], c[key])


def test_training_stops_when_dev_f1_no_longer_improves(base, data, tmp_path):
    settings = with_training(base, epochs=50, patience=2, learning_rate=0.0)
    assert Training(settings, data, tmp_path).run().epoch == 3


def test_the_log_line_names_losses_scores_and_nll(base, data, tmp_path):
    messages = []
    training = Training(with_training(base, epochs=1, selection="mbr"), data, tmp_path)
    training.run(tell=messages.append)
    (line,) = messages
    for name in ("loss", "dev P", "MBR F1", "tag NLL", "location NLL"):
        assert name in line


def test_a_checkpoint_contains_its_settings(base, data, tmp_path):
    Training(with_training(base, epochs=1), data, tmp_path).run()
    settings, progress = read_checkpoint_settings(tmp_path / BEST)
    assert settings == with_training(base, epochs=1)
    assert progress.epoch == 1


def test_files_that_are_no_checkpoints_are_refused(tmp_path):
    with pytest.raises(FileError, match="no such checkpoint"):
        read_checkpoint_settings(tmp_path / "none")
    (tmp_path / "x.safetensors").write_bytes(b"nonsense")
    with pytest.raises(FileError, match="not a safetensors file"):
        read_checkpoint_settings(tmp_path / "x.safetensors")


def test_gold_locations_are_candidates_in_training_only(data):
    names = {id(i.procedure): {c.name for c in i.procedure.candidates} for i in data.train}
    for item in data.train:
        locations = set(item.gold.locations) - {"-", "?"}
        assert locations <= names[id(item.procedure)]
    dev = {i.procedure.id: {c.name for c in i.procedure.candidates} for i in data.dev}
    assert "rain" in dev["rain"] or "water" in dev["rain"]


def test_added_gold_locations_have_their_mentions():
    steps = (Step("The lava rises beneath the surface."), Step("It cools."))
    (procedure,) = annotate([Procedure("lava", steps, (build_entity("lava"),))])
    locations = ("beneath the surface", "somewhere else")
    row = Row.from_locations("lava", ["?", *locations])
    grid = Grid("lava", tuple(step.text for step in steps), (row,))
    assert not {candidate.name for candidate in procedure.candidates} & set(locations)
    (found,) = add_gold_candidates([procedure], [grid])
    mentions = {candidate.name: candidate.mentions for candidate in found.candidates}
    assert mentions["beneath the surface"] == (Span(0, 3, 6),)
    assert mentions["somewhere else"] == ()
    assert add_gold_candidates([procedure], [None]) == [procedure]


def test_the_selected_checkpoint_holds_the_moving_average(base, data, tmp_path):
    training = Training(with_training(base, epochs=1, ema_decay=0.5), data, tmp_path)
    training.run()
    best, last = load_file(tmp_path / BEST), load_file(tmp_path / LAST)
    name = "states.output.weight"
    assert torch.equal(best[f"model.{name}"], last[f"average.{name}"])
    assert not torch.equal(best[f"model.{name}"], last[f"model.{name}"])


def test_learning_rates_rise_and_fall_and_are_smaller_in_lower_layers(base, data, tmp_path):
    settings = with_training(
        base, schedule="linear", layer_decay=0.5, learning_rate=1.0, head_learning_rate=3.0
    )
    training = Training(settings, data, tmp_path)
    rates = {group["full_rate"] for group in training.optimizer.param_groups}
    assert rates == {3.0, 1.0, 0.5, 0.25}
    shares = []
    for done in (0.0, 0.05, 0.1, 0.55, 1.0):
        set_rates(training.optimizer, settings.training, done)
        group = training.optimizer.param_groups[0]
        shares.append(group["lr"] / group["full_rate"])
    assert shares == pytest.approx([0.01, 0.51, 1.0, 0.5, 0.0], abs=1e-3)


def test_a_batch_in_parts_gives_the_same_weights(base, data, tmp_path):
    plain = replace(
        with_training(base, epochs=2, batch=6), encoder=replace(base.encoder, dropout=0.0)
    )
    sizes, weights = {"whole": set(), "parts": set()}, []
    for name, settings in (("whole", plain), ("parts", with_training(plain, part=3))):
        training = Training(settings, data, tmp_path / name)
        for module in training.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        model = training.model
        forward = model.forward

        def count(batch, name=name, model=model, forward=forward):
            if model.training:
                sizes[name].add(len(batch.procedure))
            return forward(batch)

        model.forward = count
        training.run()
        weights.append(load_file(tmp_path / name / LAST))
    assert min(sizes["parts"]) < min(sizes["whole"]) == 6
    torch.testing.assert_close(*weights, rtol=1e-3, atol=1e-5)


def test_fused_adam_gives_the_same_weights(base, data, tmp_path):
    weights = []
    for is_fused in (False, True):
        settings = with_training(base, epochs=1, learning_rate=1e-3, is_fused=is_fused)
        Training(settings, data, tmp_path / str(is_fused)).run()
        weights.append(load_file(tmp_path / str(is_fused) / BEST))
    plain, fused = weights
    assert plain.keys() == fused.keys()
    for name, weight in plain.items():
        torch.testing.assert_close(fused[name], weight, rtol=1e-4, atol=1e-5)


def test_a_network_can_learn_from_annotators_alone(base, tmp_path):
    """With weight 1, the annotators decide: they know no location, so that nothing moves."""
    corpus = tiny.build_corpus()
    examples = []
    for example in corpus.splits["train"]:
        rows = [row.locations for row in example.gold.rows]
        vague = [[location if location == ABSENT else UNKNOWN for location in row] for row in rows]
        grid = replace(
            example.gold,
            rows=tuple(
                Row.from_locations(row.name, locations)
                for row, locations in zip(example.gold.rows, vague, strict=True)
            ),
        )
        examples.append(replace(example, annotators=(grid,)))
    annotated = replace(corpus, splits={**corpus.splits, "train": tuple(examples)})
    settings = with_training(base, epochs=40, patience=40, learning_rate=1e-2, annotators=1.0)
    data = build_training_data(annotated, settings)
    training = Training(settings, data, tmp_path)
    training.run()
    (moves, gold_moves) = (
        sum(action == Action.MOVE for grid in grids for row in grid.rows for action in row.actions)
        for grids in (predict_grids(training.scorer, data.dev), data.dev_gold.values())
    )
    assert gold_moves > 0
    assert moves == 0


def test_interpolated_weights_lie_between_two_stages(base, data, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, start in ((first, ""), (second, str(first))):
        settings = with_training(base, epochs=1, start=start, seed=len(start) and 1)
        Training(settings, data, folder).run()
        (folder / SETTINGS).write_text(settings.to_toml())
    interpolate_runs(first, second, tmp_path / "between", share=0.25)
    one, two, between = (load_file(tmp_path / n / BEST) for n in ("first", "second", "between"))
    name = "model.states.output.weight"
    assert not torch.equal(one[name], two[name])
    assert torch.allclose(between[name], 0.75 * one[name] + 0.25 * two[name], atol=1e-6)
    assert torch.equal(between["model.crf.transitions"], two["model.crf.transitions"])
    with pytest.raises(FileError, match="already holds a run"):
        interpolate_runs(first, second, second)
