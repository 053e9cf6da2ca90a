"""The command `koala pretrain`."""

import pytest
from typer.testing import CliRunner

from koala.cli.pretrain import app
from koala.encoders import windows as shipped
from koala.errors import KoalaError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TRIPLES = "rain\tCreatedBy\train clouds\nleaf\tPartOf\tplant\nsand\tAtLocation\tbeach\n"
SETTINGS = 'stage = "{stage}"\nencoder = "{encoder}"\nepochs = 1\nheld_out = 0.34\nbatch = 4\n'


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = shipped.load_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = transformers.BertConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
    )
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    return folder


def write(folder, name, text):
    (folder / name).write_text(text)
    return str(folder / name)


def call(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_stage_on_triples(encoder, tmp_path):
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="triples", encoder=encoder))
    triples = write(tmp_path, "triples.tsv", TRIPLES)
    done = call("triples", config, "--triples", triples, "-o", tmp_path / "out", "--seed", 3)
    assert done.exit_code == 0
    # Only the folder goes to stdout; messages go to stderr.
    assert done.stdout.strip() == str(tmp_path / "out")
    assert "2 triples make" in done.stderr
    assert "(held-out triples)" in done.stderr
    assert (tmp_path / "out" / "model.safetensors").is_file()
    assert "seed = 3" in (tmp_path / "out" / "settings.toml").read_text()


def test_stage_on_text(encoder, tmp_path):
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="text", encoder=encoder))
    corpus = write(tmp_path, "wiki.jsonl", '{"query": "1", "text": "Rain falls on the sea."}\n')
    done = call("text", config, "--corpus", corpus, "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert (tmp_path / "out" / "head.safetensors").is_file()


def test_settings_of_another_stage_are_refused(encoder, tmp_path):
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="triples", encoder=encoder))
    with pytest.raises(KoalaError, match="Run: koala pretrain triples"):
        call("text", config, "--corpus", "wiki.jsonl", "-o", tmp_path / "out")


def test_triples_have_one_source_only(encoder, tmp_path):
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="triples", encoder=encoder))
    with pytest.raises(KoalaError, match=r"Give --triples .* or --procedures .*, not both"):
        call("triples", config, "-o", tmp_path / "out", "--triples", "a", "--procedures", "b")


def test_settings_can_name_input_and_output(encoder, tmp_path):
    out = tmp_path / "out"
    corpus = write(tmp_path, "wiki.jsonl", '{"query": "1", "text": "Rain falls on the sea."}\n')
    paths = f'paragraphs = "{corpus}"\noutput = "{out}"\n'
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="text", encoder=encoder) + paths)
    done = call("text", config)
    assert done.exit_code == 0
    assert (out / "model.safetensors").is_file()


def test_missing_paths_raise_an_error(encoder, tmp_path, monkeypatch):
    monkeypatch.delenv("KOALA_DATA", raising=False)
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="text", encoder=encoder))
    with pytest.raises(KoalaError, match=r"has no setting 'output'\. Add it, or give -o"):
        call("text", config)
    with pytest.raises(KoalaError, match=r"has no setting 'paragraphs'\. Add it, or give --corpus"):
        call("text", config, "-o", tmp_path / "out")
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="triples", encoder=encoder))
    with pytest.raises(KoalaError, match="with --procedures, or set KOALA_DATA"):
        call("triples", config, "-o", tmp_path / "out")


@pytest.mark.parametrize("command", ["text", "triples"])
def test_help_has_an_example(command):
    assert f"koala pretrain {command}" in " ".join(call(command, "--help").stdout.split())


def test_without_torch_the_error_names_the_extra(encoder, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "koala.pretraining.language_model", None)
    config = write(tmp_path, "c.toml", SETTINGS.format(stage="triples", encoder=encoder))
    triples = write(tmp_path, "triples.tsv", TRIPLES)
    with pytest.raises(KoalaError, match=r"pip install .*\[train\]"):
        call("triples", config, "--triples", triples, "-o", tmp_path / "out")
