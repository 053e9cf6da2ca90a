"""The learning curve of adapting, with a tiny run and a few procedures."""

import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import adapting  # noqa: E402

from koala.evaluation.report.runs import KEYS  # noqa: E402
from koala.network.torch.koala import build_model  # noqa: E402
from koala.training.checkpoint import BEST, Progress, save_checkpoint  # noqa: E402

from .. import tiny  # noqa: E402

CORPUS = Path(__file__).parents[2] / "corpus"


def test_the_field_is_split_and_left_out_of_what_is_rehearsed():
    corrected, scored_on, others = adapting.split_field(CORPUS, "wet-lab", 40, 0)
    assert len(corrected) == 40
    assert not {e.procedure.id for e in corrected} & {e.procedure.id for e in scored_on}
    assert len(corrected) + len(scored_on) == sum(
        (CORPUS / split / "wet-lab.txt").read_text().count("\n# [") + 1
        for split in ("train", "dev", "test")
    )
    rehearsed = [e for split in others.splits.values() for e in split]
    assert len(rehearsed) > 2000
    assert not any(e.procedure.id.startswith("wet-lab/") for e in rehearsed)


def test_a_row_adapts_and_is_written(tmp_path):
    settings = tiny.build_settings(tiny.build_encoder(tmp_path / "encoder"), None)
    corpus = tmp_path / "corpus"
    for split in ("train", "dev", "test"):
        for field in ("wet-lab", "kitchen"):
            written = (CORPUS / split / f"{field}.txt").read_text().strip().split("\n\n")
            # The shortest texts: the tiny encoder reads 128 subwords.
            shortest = sorted(written, key=len)[:3]
            (corpus / split).mkdir(parents=True, exist_ok=True)
            (corpus / split / f"{field}.txt").write_text("\n\n".join(shortest) + "\n")
    torch.manual_seed(0)
    (tmp_path / "run").mkdir()
    save_checkpoint(tmp_path / "run" / BEST, build_model(settings), settings, Progress(1, 1, 0.5))
    words = ["--from", str(tmp_path / "run"), "--written", str(corpus), "--epochs", "1"]
    for n in (0, 2):
        adapting.main([*words, "--row", str(n), "-o", str(tmp_path / "out")])
    none, two = (json.loads(p.read_text()) for p in sorted((tmp_path / "out").iterdir()))
    assert two.keys() >= set(KEYS)
    assert (none["scores"]["procedures"], two["scores"]["procedures"]) == (0, 2)
    assert none["scores"]["field_nll"] != two["scores"]["field_nll"]
    assert none["scores"]["field_procedures"] == 6
    assert two["scores"]["peak_memory_mb"] > 0
