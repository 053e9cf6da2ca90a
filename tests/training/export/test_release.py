"""Release of models: what the card of an exported run says."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from koala.network.card import read_card  # noqa: E402
from koala.training.export.release import release  # noqa: E402
from koala.training.run import DataSource, train  # noqa: E402

from ... import tiny  # noqa: E402


def test_extra_texts_are_not_needed_for_the_export_and_keep_only_their_name(tmp_path):
    settings = tiny.build_settings(tiny.build_encoder(tmp_path / "encoder"), None, epochs=1)
    corpus = tiny.build_corpus()
    extra = tmp_path / "made.jsonl"
    extra.write_text("".join(e.gold.to_json() + "\n" for e in corpus.splits["train"]))
    training = replace(settings.training, extra=str(extra), extra_share=0.5)
    train(replace(settings, training=training), DataSource(corpus), tmp_path / "run")
    extra.unlink()
    release([tmp_path / "run"], DataSource(corpus), tmp_path / "model", "tiny")
    assert read_card(tmp_path / "model").read_settings().training.extra == "made.jsonl"
