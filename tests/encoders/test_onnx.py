import numpy as np
import pytest

from koala.encoders import onnx, open_encoder
from koala.errors import FileError, KoalaError


@pytest.fixture(scope="module")
def encoder():
    return open_encoder()


def cosine(one, other):
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_each_word_has_one_vector(encoder):
    vectors = encoder.encode([["Bones", "belong", "to", "an", "animal"], [], ["photosynthesis"]])
    assert [v.shape for v in vectors] == [(5, 384), (0, 384), (1, 384)]
    assert all(np.isfinite(v).all() for v in vectors)


def test_vectors_do_not_depend_on_other_texts_of_the_batch(encoder):
    text = ["the", "roots", "absorb", "water", "from", "the", "soil"]
    others = [["x"] * n for n in (1, 9, 60)]
    alone = encoder.encode([text])[0]
    batched = encoder.encode([*others, text, *others])[3]
    assert batched == pytest.approx(alone, abs=1e-4)


def test_vectors_reflect_meaning_and_context(encoder):
    river, money, water = encoder.encode(
        [["the", "bank", "of", "the", "river"], ["the", "bank", "lends", "money"], ["river"]]
    )
    assert cosine(river[1], water[0]) > cosine(money[1], water[0])


def test_a_long_text_is_encoded_completely(encoder):
    vectors = encoder.encode([["water"] * 900])[0]
    assert vectors.shape == (900, 384)
    assert (np.linalg.norm(vectors, axis=1) > 0).all()


def test_progress_counts_windows(encoder):
    counts = []
    encoder.encode([["water"]] * 5, progress=counts.append)
    assert sum(counts) == 5


def test_wrong_weights_are_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"not a network")
    with pytest.raises(FileError, match=f"expected {onnx.SHA256[:12]}"):
        onnx.OnnxEncoder(path, sha256=onnx.SHA256)
    with pytest.raises(FileError, match="cannot be read"):
        onnx.OnnxEncoder(tmp_path / "none.onnx", sha256=onnx.SHA256)


def test_missing_weights_are_named(monkeypatch):
    monkeypatch.setattr(onnx, "PACKAGE", "no_such_package")
    with pytest.raises(KoalaError, match="no_such_package"):
        open_encoder()
