from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from koala.inputs.targets import build_gold  # noqa: E402
from koala.network.torch.knowledge_injector import KnowledgeInjector  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.network.torch.location import LocationPredictor, find_distances  # noqa: E402
from koala.network.torch.pooling import (  # noqa: E402
    Rows,
    SequenceLSTM,
    SharedInputLSTM,
    masked_mean,
    to_rows,
)
from koala.network.torch.transformer import run_layers  # noqa: E402
from koala.settings import KnowledgeSettings, LossSettings  # noqa: E402
from koala.training.data import build_training_data  # noqa: E402
from koala.training.loop import build_batcher  # noqa: E402
from koala.training.loss import build_targets, compute_losses  # noqa: E402

from ... import tiny  # noqa: E402


@pytest.fixture(scope="module")
def items(settings):
    return build_training_data(tiny.build_corpus(), settings).train


def run(settings, items, *, seed=0):
    torch.manual_seed(seed)
    model = build_model(settings)
    model.eval()
    with torch.no_grad():
        return model(build_batcher(settings).build(items)).to_numpy()


def test_shapes_and_lengths(settings, items):
    output = run(settings, items)
    n_candidates = 1 + max(len(item.procedure.candidates) for item in items)
    assert output.tags.shape == (6, 4, 6)
    assert output.locations.shape == (6, 5, n_candidates)
    assert output.n_steps.tolist() == [3, 3, 4, 4, 2, 2]
    assert np.isfinite(output.tags).all()


def test_the_output_of_an_entity_does_not_depend_on_the_batch(settings, items):
    together = run(settings, items)
    for index, item in enumerate(items):
        alone = run(settings, [item])
        steps, candidates = alone.n_steps[0], alone.n_candidates[0]
        assert together.tags[index, :steps] == pytest.approx(alone.tags[0], abs=1e-5)
        ours = together.locations[index, : steps + 1, :candidates]
        assert ours == pytest.approx(alone.locations[0], abs=1e-5)


def test_attention_is_a_distribution_over_the_real_triples(settings, items):
    output = run(settings, items)
    for index, item in enumerate(items):
        weights = output.attention[index, : output.n_steps[index]]
        if item.triples:
            assert weights.sum(-1) == pytest.approx(1.0, abs=1e-5)
            assert weights[:, len(item.triples) :].sum() == 0
        else:
            assert weights.sum() == 0


def find_gradients(settings, items):
    torch.manual_seed(0)
    model = build_model(settings)
    output = model(build_batcher(settings).build(items))
    compute_losses(output, build_targets(items), model.crf, settings.loss).total.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


def test_frozen_parts_get_no_gradient_and_all_others_do(settings, items):
    found = find_gradients(settings, items)
    # Rows of tables may stay without gradient, such as unused positions; whole parameters may not.
    for name, gradient in found.items():
        if name.startswith("triple_encoder.transformer."):
            assert gradient is None, name
        else:
            assert gradient is not None, name
            assert torch.isfinite(gradient).all(), name
            assert gradient.abs().sum() > 0, name


@pytest.mark.parametrize(
    "knowledge",
    [
        {"is_used": False},
        {"has_attention": False},
        {"integration": "concatenation"},
        {"is_frozen": False},
    ],
)
def test_every_setting_of_the_paper_learns(settings, items, knowledge):
    changed = replace(settings, knowledge=replace(settings.knowledge, **knowledge))
    found = find_gradients(changed, items)
    assert all(g is None or torch.isfinite(g).all() for g in found.values())
    is_there = any(name.startswith("triple_encoder.") for name in found)
    assert is_there == changed.knowledge.is_used


def test_a_lower_gate_bias_changes_the_input_less():
    torch.manual_seed(0)
    rows, triples = torch.randn(4, 6), torch.randn(1, 3, 5)
    mask = torch.ones(1, 3, dtype=torch.bool)
    changes = []
    for bias in (0.0, -3.0, -9.0):
        torch.manual_seed(1)
        injector = KnowledgeInjector(
            query_width=6, triple_width=5, has_attention=True, is_gated=True, gate_bias=bias
        )
        infused, _ = injector(to_rows(rows[None]), triples, mask)
        changes.append((infused - rows).abs().max().item())
    assert changes[0] > changes[1] > changes[2]
    assert changes[2] < 0.01


def test_without_relevant_triples_the_attention_loss_is_zero(settings, items):
    torch.manual_seed(0)
    model = build_model(settings)
    unlabelled = [replace(item, relevance=None) for item in items]
    for form in ("positives", "paper"):
        loss = LossSettings(attention_form=form)
        output = model(build_batcher(settings).build(unlabelled))
        losses = compute_losses(output, build_targets(unlabelled), model.crf, loss)
        assert losses.attention.item() == 0.0
        model.zero_grad()
        losses.total.backward()
        assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_the_two_forms_of_the_attention_loss(settings, items):
    """The paper's form divides by all pairs of triple and step, the default by the positives."""
    torch.manual_seed(0)
    model = build_model(settings)
    model.eval()
    gold, targets = build_gold(items), build_targets(items)
    output = model(build_batcher(settings).build(items))
    forms = [LossSettings(attention_form=form) for form in ("positives", "paper")]
    both = [compute_losses(output, targets, model.crf, own).attention.item() for own in forms]
    n_positive = gold.state_relevance.sum() + gold.location_relevance.sum()
    pairs = output.step_mask.sum().item() * gold.state_relevance.shape[-1]
    assert n_positive > 0
    assert both[0] * n_positive == pytest.approx(both[1] * pairs, rel=1e-4)


def build_injector(width=4, *, has_attention=True, is_gated=True):
    torch.manual_seed(0)
    return KnowledgeInjector(
        query_width=width, triple_width=3, has_attention=has_attention, is_gated=is_gated
    )


@pytest.fixture
def injector():
    return build_injector()


def infuse(injector, h, t):
    """Equations 10-15 written out for one query and its triples."""
    if injector.attention is None:
        alpha = torch.full((len(t),), 1 / max(len(t), 1))
    else:
        alpha = ((injector.attention.weight @ h) @ t.T).softmax(0)
    joint = torch.cat([h, alpha @ t])
    if injector.gate is None:
        return joint, alpha
    if not len(t):
        return h, alpha
    i = (injector.gate.weight @ joint + injector.gate.bias).sigmoid()
    f = injector.mix.weight @ joint + injector.mix.bias
    return i * f + (1 - i) * h, alpha


def test_the_injector_follows_the_equations_of_the_paper(injector):
    left, right, triples = torch.randn(2, 1), torch.randn(3, 3), torch.randn(2, 2, 3)
    mask = torch.tensor([[True, True], [True, False]])
    first, second, owner = torch.tensor([[0, 1, 0], [2, 0, 0], [0, 1, 1]])
    rows = Rows(((left, first), (right, second)), owner)
    new, log_attention = injector(rows, triples, mask)
    for number in range(3):
        h = torch.cat([left[first[number]], right[second[number]]])
        has = mask[owner[number]]
        expected, alpha = infuse(injector, h, triples[owner[number]][has])
        assert new[number].tolist() == pytest.approx(expected.tolist(), abs=1e-6)
        found = log_attention[number].exp()
        assert found[has].tolist() == pytest.approx(alpha.tolist(), abs=1e-6)
        assert not found[~has].any()


def test_without_triples_the_input_is_unchanged(injector):
    query = torch.randn(3, 4)
    mask = torch.tensor([[False, False], [True, False]])
    rows = Rows(((query, torch.arange(3)),), torch.tensor([0, 1, 0]))
    new, _ = injector(rows, torch.randn(2, 2, 3), mask)
    assert torch.equal(new[[0, 2]], query[[0, 2]])
    assert not torch.equal(new[1], query[1])


def test_triples_of_other_entities_have_no_influence(injector):
    query, triples = torch.randn(1, 4), torch.randn(2, 2, 3)
    mask = torch.ones(2, 2, dtype=torch.bool)
    rows = Rows(((query, torch.tensor([0])),), torch.tensor([0]))
    changed = triples.clone()
    changed[1] += 1
    assert torch.equal(injector(rows, triples, mask)[0], injector(rows, changed, mask)[0])


def test_shared_inputs_give_the_output_of_a_plain_lstm():
    torch.manual_seed(0)
    shared = SharedInputLSTM(input_width=6, width=5)
    rows = torch.randn(7, 6)
    index, lengths = torch.randint(7, (4, 5)), torch.tensor([5, 3, 1, 4])
    packed = pack_padded_sequence(rows[index], lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(shared.lstm(packed)[0], batch_first=True)
    assert torch.allclose(shared(rows, index, lengths), expected, atol=1e-6)


@pytest.mark.parametrize(
    "injector",
    [
        None,
        build_injector(8),
        build_injector(8, has_attention=False),
        build_injector(8, is_gated=False),
    ],
    ids=["no knowledge", "attention and gate", "mean", "concatenation"],
)
def test_location_scores_follow_equation_5(injector):
    """Compare with equation 5 written out for every candidate and position, without sharing."""
    torch.manual_seed(0)
    predictor = LocationPredictor(input_width=4, width=3, injector=injector)
    entity, candidates = torch.randn(3, 3, 4), torch.randn(2, 5, 3, 4)
    is_named = torch.rand(2, 5, 3) < 0.4
    candidates = candidates * is_named.unsqueeze(-1)
    row, lengths = torch.tensor([1, 0, 0]), torch.tensor([3, 2, 2])
    # The last candidate of the first text and the last step of the other are padding.
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[0, 4] = False
    triples, has_triple = (
        torch.randn(3, 2, 3),
        torch.tensor([[True] * 2, [True, False], [False] * 2]),
    )
    scores, _ = predictor(entity, candidates, is_named, row, mask, lengths, triples, has_triple)
    for batch, candidate in mask.nonzero().tolist():
        own = candidates[row[batch], candidate]
        own = predictor.unknown.expand(3, 4) if candidate == 0 else own
        inputs = torch.cat([entity[batch], own], dim=-1)
        inputs = torch.cat([torch.zeros(1, 8), inputs])[: lengths[batch] + 1]
        if injector is not None:
            known = triples[batch][has_triple[batch]]
            inputs = torch.stack([infuse(injector, h, known)[0] for h in inputs])
        expected = predictor.output(predictor.lstm.lstm(inputs.unsqueeze(0))[0])[0, :, 0]
        found = scores[batch, : lengths[batch] + 1, candidate]
        assert torch.allclose(found, expected, atol=1e-6)


def test_masked_mean_of_an_example():
    values = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]])
    mask = torch.tensor([[[True, True, False], [False, False, False]]])
    assert masked_mean(mask, values).tolist() == [[[2.0, 3.0], [0.0, 0.0]]]


def test_knowledge_settings_default_to_the_published_code():
    assert KnowledgeSettings().is_frozen


READINGS = {
    "marked": ({"entity": "marked", "n_shared_layers": 1}, {}),
    "marked, frozen": (
        {"entity": "marked", "n_shared_layers": 1, "n_frozen_layers": 1, "token_width": 0},
        {"reads": "steps", "locations": "scorer"},
    ),
    "prefix": ({"entity": "prefix"}, {"reads": "steps"}),
    "mixture": ({"layers": "mixture", "is_frozen": True}, {}),
    "upper layers learn": ({"layers": "mixture", "n_frozen_layers": 1}, {}),
    "scorer": ({}, {"locations": "scorer"}),
    "entities see each other": ({}, {"has_entity_attention": True}),
    "legal": ({}, {"has_legal_crf": True, "reads": "steps"}),
}


@pytest.fixture(params=READINGS, ids=list(READINGS))
def reading(request, settings):
    encoder, decoder = READINGS[request.param]
    return replace(
        settings,
        encoder=replace(settings.encoder, **encoder),
        decoder=replace(settings.decoder, **decoder),
    )


def test_every_architecture_trains_what_is_not_frozen(reading, items):
    found = find_gradients(reading, items)
    n_frozen = reading.encoder.n_frozen_layers
    frozen = ["triple_encoder.transformer."]
    if n_frozen:
        frozen += ["text_encoder.transformer.embeddings."]
        frozen += [f"text_encoder.transformer.encoder.layer.{n}." for n in range(n_frozen)]
    if reading.encoder.is_frozen:
        frozen += ["text_encoder.transformer."]
    for name, gradient in found.items():
        if name.startswith(tuple(frozen)):
            assert gradient is None, name
        else:
            assert gradient is not None, name
            assert torch.isfinite(gradient).all(), name
            assert gradient.abs().sum() > 0, name


def test_the_output_of_a_procedure_does_not_depend_on_the_batch(reading, items):
    together = run(reading, items)
    for start in (0, 2, 4):
        alone = run(reading, items[start : start + 2])
        for index in (0, 1):
            steps, candidates = alone.n_steps[index], alone.n_candidates[index]
            ours = together.tags[start + index, :steps]
            assert ours == pytest.approx(alone.tags[index, :steps], abs=1e-4)
            ours = together.locations[start + index, : steps + 1, :candidates]
            theirs = alone.locations[index, : steps + 1, :candidates]
            assert ours == pytest.approx(theirs, abs=1e-4)


def test_cached_outputs_of_frozen_layers_equal_fresh_ones(reading, items):
    torch.manual_seed(0)
    model, batch = build_model(reading), build_batcher(reading).build(items)
    cached = model.predict(batch)
    model.clear_cache()
    fresh = model.predict(batch)
    # The cache has half precision.
    np.testing.assert_allclose(cached.tags, fresh.tags, atol=5e-3)
    np.testing.assert_allclose(cached.locations, fresh.locations, atol=5e-3)


def test_marked_mentions_change_the_output(settings, items):
    """Two entities of one text get different tag scores, because different mentions are marked."""
    changed = replace(
        settings,
        encoder=replace(settings.encoder, entity="marked", n_shared_layers=1),
        knowledge=replace(settings.knowledge, is_used=False),
        decoder=replace(settings.decoder, reads="steps", locations="scorer"),
    )
    first, second = items[0], items[1]
    assert first.procedure is second.procedure
    output = run(changed, [first, second])
    assert not np.allclose(output.tags[0], output.tags[1], atol=1e-4)


@pytest.mark.parametrize("stop", [0, 1, 2])
def test_layers_run_in_two_parts_equal_the_whole_transformer(settings, items, stop):
    model = build_model(settings).eval()
    transformer = model.text_encoder.transformer
    batch = build_batcher(settings).build(items)
    subwords, mask = torch.from_numpy(batch.subwords), torch.from_numpy(batch.subwords_mask)
    assert_is_whole(transformer, subwords, mask, stop)


def assert_is_whole(transformer, subwords, mask, stop):
    """Compare layers that are run in two parts with the output of the transformers library."""
    with torch.no_grad():
        whole = transformer(subwords, attention_mask=mask.long(), output_hidden_states=True)
        lower = run_layers(transformer, subwords, mask, "mixture", stop=stop)
        upper = run_layers(transformer, lower[:, -1], mask, "mixture", start=stop)
        last = run_layers(transformer, lower[:, -1], mask, start=stop)
    layers = torch.cat([lower[:, :-1], upper], dim=1)
    for ours, theirs in zip(layers.unbind(1), whole.hidden_states, strict=True):
        assert torch.allclose(ours[mask], theirs[mask], atol=1e-5)
    assert torch.allclose(last[:, 0][mask], whole.last_hidden_state[mask], atol=1e-5)


def test_mpnet_run_in_two_parts_equals_the_whole_transformer():
    from transformers import MPNetConfig, MPNetModel

    torch.manual_seed(0)
    config = MPNetConfig(
        vocab_size=100, hidden_size=16, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=40,
    )  # fmt: skip
    transformer = MPNetModel(config, add_pooling_layer=False).eval()
    subwords = torch.randint(3, 100, (2, 20))
    mask = torch.ones(2, 20, dtype=torch.bool)
    mask[1, 12:] = False
    subwords[1, 12:] = 1
    assert_is_whole(transformer, subwords, mask, stop=2)


def test_distances_count_steps_since_and_until_a_mention():
    is_named = torch.tensor([[[False, True, False, False, False, False, True]]])
    found = find_distances(is_named)[0, 0].tolist()
    pairs = [(number // 4, number % 4 + 1) for number in found]
    # (since, until) at positions 0 … 7; 4 is never, 3 is three or more.
    assert pairs == [(4, 2), (4, 1), (0, 3), (1, 3), (2, 3), (3, 2), (3, 1), (0, 4)]


def test_padded_sequences_give_the_output_of_packed_ones():
    torch.manual_seed(0)
    lstm = SequenceLSTM(input_width=5, width=3)
    inputs, lengths = torch.randn(4, 6, 5, requires_grad=True), torch.tensor([6, 2, 1, 4])
    found = lstm(inputs, lengths)
    packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(lstm.lstm(packed)[0], batch_first=True, total_length=6)
    assert torch.allclose(found, expected, atol=1e-6)
    weights = torch.randn_like(found)
    (gradient,) = torch.autograd.grad((found * weights).sum(), inputs)
    (expected_gradient,) = torch.autograd.grad((expected * weights).sum(), inputs)
    assert torch.allclose(gradient, expected_gradient, atol=1e-5)
