"""Release of trained models: export to ONNX, calibrate, and score the exported network on dev.

`release` makes the folder of a model from one or several checkpoints; `measure` calibrates and
scores an exported folder again.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from koala.corpora import Corpus
from koala.decoding.location_reranker import LocationReranker
from koala.document import CONVENTIONS
from koala.encoders.weights import find_weights
from koala.encoders.windows import load_tokenizer
from koala.inference.calibration import Calibration, Temperatures
from koala.inference.predict import decode_grids
from koala.inference.scoring import NetworkScorer, score_all
from koala.network.card import MBR, TOKENIZER, Card, read_card, write_card
from koala.network.onnx.network import OnnxNetwork
from koala.network.torch.ensemble import HeadEnsemble
from koala.network.torch.koala import KoalaModel
from koala.settings import Settings
from koala.tasks import find_task
from koala.training.calibration import find_temperatures, fit_reranker, measure_calibration
from koala.training.checkpoint import open_checkpoint
from koala.training.export.onnx import export_network
from koala.training.export.packing import read_public, round_public
from koala.training.loop import build_batcher
from koala.training.run import DataSource


def release(
    checkpoints: Sequence[Path],
    source: DataSource,
    folder: Path,
    name: str,
    *,
    leaves_out_public: bool = False,
    encoder: Path | None = None,
    written: Corpus | None = None,
    calibration: Calibration | None = None,
) -> Card:
    """Export checkpoints as one network, then calibrate and score the exported network on dev.

    Several checkpoints over one frozen encoder become an ensemble of heads. With
    `leaves_out_public`, unchanged tables are read from the public encoder; with `encoder`, from
    that file of 8-bit tables, which several networks can share and which is written if missing.
    `written` is koala's own corpus: its dev split gives the calibration for its annotation
    convention.
    """
    opened = [open_checkpoint(checkpoint) for checkpoint in checkpoints]
    settings = opened[0][1]
    model: KoalaModel | HeadEnsemble = opened[0][0]
    if len(opened) > 1:
        model = HeadEnsemble([each for each, _ in opened])
    batcher = build_batcher(settings)
    data = source.get(_without_extra(settings))
    card = Card(name, settings.for_card().to_toml())
    public = None
    if encoder is not None:
        public = round_public(find_weights(settings.encoder.name), encoder)
    elif leaves_out_public:
        public = read_public(find_weights(settings.encoder.name))
    export_network(model, batcher, data.dev[:8], folder, card, public=public)
    copy_tokenizer(settings.encoder.name, folder)
    return measure(folder, source, written, calibration=calibration)


def measure(
    folder: Path,
    source: DataSource,
    written: Corpus | None = None,
    *,
    calibration: Calibration | None = None,
) -> Card:
    """Fit the temperatures of an exported network and score it on dev; write both to its card.

    Rerankers and consistency weights come from `calibration`. With `written`, koala's own corpus,
    the temperatures and the reranker of its annotation convention are fitted on its dev split.
    """
    settings = read_card(folder).read_settings()
    task, data = find_task(settings), source.get(_without_extra(settings))
    scorer = NetworkScorer(OnnxNetwork(folder), build_batcher(settings))
    scored = score_all(scorer, data.dev)
    temperatures = find_temperatures(scored)
    known = calibration or Calibration()
    fitted = replace(known, temperatures=dict.fromkeys(CONVENTIONS, temperatures))
    if written is not None:
        own, reranker = _calibrate_written(scorer, source.over(written), settings)
        fitted = replace(
            fitted,
            temperatures={"propara": temperatures, "koala": own},
            rerankers={**known.rerankers, "koala": reranker},
        )
    errors = []
    for each in (replace(fitted, temperatures={}), fitted):
        grids = decode_grids(scored, task=task, calibration=each)
        errors.append(measure_calibration(grids, data.dev_gold))
    viterbi = task.score(grids, data.dev_gold)
    grids = decode_grids(scored, task=task, decoding="mbr", calibration=fitted)
    mbr = task.score(grids, data.dev_gold)
    scores = {
        **viterbi.overall.to_dict(digits=3),
        "calibration_error": round(errors[1], 4),
        "calibration_error_without_temperatures": round(errors[0], 4),
        "signature": viterbi.signature,
        MBR: {**mbr.overall.to_dict(digits=3), "signature": mbr.signature},
    }
    card = replace(read_card(folder), scores=scores, calibration=fitted.to_dict())
    write_card(card, folder)
    return card


def _calibrate_written(
    scorer: NetworkScorer, source: DataSource, settings: Settings
) -> tuple[Temperatures, LocationReranker]:
    """Fit temperatures and the location reranker on the dev split of koala's own corpus."""
    bare = _without_extra(settings)
    data = source.get(replace(bare, training=replace(bare.training, annotators=0.0)))
    scored = score_all(scorer, data.dev)
    temperatures = find_temperatures(scored)
    return temperatures, fit_reranker(scored, temperatures)


def _without_extra(settings: Settings) -> Settings:
    """Leave out the extra training texts, which are not needed for dev and may be elsewhere."""
    return replace(settings, training=replace(settings.training, extra=""))


def copy_tokenizer(encoder: str, folder: Path) -> None:
    """Copy the encoder's tokenizer, unless its vocabulary is the one that koala bundles."""
    path = find_weights(encoder) / TOKENIZER
    bundled = load_tokenizer().get_vocab()
    if Tokenizer.from_file(str(path)).get_vocab() != bundled:
        shutil.copyfile(path, folder / TOKENIZER)
