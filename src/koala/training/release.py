"""A checkpoint → the folder of a network that runs without torch, measured on dev."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer

from koala.corpora import Corpus
from koala.document import Convention
from koala.encoders.pieces import load_tokenizer
from koala.encoders.weights import find_weights
from koala.evaluation import score_corpus
from koala.hints import Reranker
from koala.model.ensemble import HeadEnsemble
from koala.model.koala import KoalaModel
from koala.prediction import Reader, Temperatures, decode_grids, score_items
from koala.runtime.files import EXPECTED, TOKENIZER, Card, read_card, write_card
from koala.runtime.network import OnnxNetwork
from koala.settings import Settings
from koala.training.calibration import find_temperatures, fit_reranker, measure_calibration
from koala.training.checkpoint import open_checkpoint
from koala.training.export import export_network
from koala.training.loop import build_batcher
from koala.training.packing import read_public, round_public
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
) -> Card:
    """Export, then find temperatures and measure on dev what was exported, not what was trained.

    Several checkpoints over one frozen encoder become one network, whose heads are averaged. What
    is as it was in the public encoder may be left out, to be read from there, or from a file
    beside, `encoder`, that several networks read: 8-bit numbers, made where it is missing. The dev
    split of koala's own corpus gives the temperatures for its convention.
    """
    opened = [open_checkpoint(checkpoint) for checkpoint in checkpoints]
    settings = opened[0][1]
    model: KoalaModel | HeadEnsemble = opened[0][0]
    if len(opened) > 1:
        model = HeadEnsemble([each for each, _ in opened])
    batcher = build_batcher(settings)
    data = source.get(settings)
    settings = settings.without_stages()
    card = Card(name, settings.to_toml())
    public = None
    if encoder is not None:
        public = round_public(find_weights(settings.encoder.name), encoder)
    elif leaves_out_public:
        public = read_public(find_weights(settings.encoder.name))
    export_network(model, batcher, data.dev[:8], folder, card, public=public)
    _copy_tokenizer(settings.encoder.name, folder)
    return measure(folder, source, written)


def measure(folder: Path, source: DataSource, written: Corpus | None = None) -> Card:
    """Find the temperatures of an exported network and its scores on dev; write both to its card.

    Also for one that is there already, when grids are made of its scores in another way.
    """
    settings = read_card(folder).read_settings()
    data = source.get(settings)
    scorer = Reader(OnnxNetwork(folder), build_batcher(settings))
    scored = list(score_items(scorer, data.dev))
    temperatures = find_temperatures(scored)
    decoder = settings.decoder
    errors = []
    for each in ((1.0, 1.0), temperatures):
        grids = decode_grids(data.dev, scored, settings=decoder, temperatures=each)
        errors.append(measure_calibration(grids, data.dev_gold))
    found = score_corpus(settings.corpus, grids, data.dev_gold)
    decoder = replace(decoder, decoding="expected")
    grids = decode_grids(data.dev, scored, settings=decoder, temperatures=temperatures)
    expected = score_corpus(settings.corpus, grids, data.dev_gold)
    scores = {
        **found.overall.to_dict(digits=3),
        "calibration_error": round(errors[1], 4),
        "calibration_error_without_temperatures": round(errors[0], 4),
        "signature": found.signature,
        EXPECTED: {**expected.overall.to_dict(digits=3), "signature": expected.signature},
    }
    card = replace(
        read_card(folder),
        scores=scores,
        tag_temperature=temperatures[0],
        place_temperature=temperatures[1],
    )
    if written is not None:
        own, reranker = _calibrate_written(scorer, source.over(written), settings)
        both: dict[Convention, Temperatures] = {"propara": temperatures, "koala": own}
        card = replace(card, temperatures=both, rerankers={"koala": reranker.to_dict()})
    write_card(card, folder)
    return card


def _calibrate_written(
    scorer: Reader, source: DataSource, settings: Settings
) -> tuple[Temperatures, Reranker]:
    """Find temperatures and the reranker's weights on the dev split of koala's own corpus."""
    training = replace(settings.training, annotators=0.0, extra="")
    data = source.get(replace(settings, training=training))
    scored = list(score_items(scorer, data.dev))
    temperatures = find_temperatures(scored)
    return temperatures, fit_reranker(scored, temperatures)


def _copy_tokenizer(encoder: str, folder: Path) -> None:
    """Copy the tokenizer, unless it is the one that koala has anyway."""
    path = find_weights(encoder) / TOKENIZER
    known = load_tokenizer().get_vocab()
    if Tokenizer.from_file(str(path)).get_vocab() != known:
        shutil.copyfile(path, folder / TOKENIZER)
