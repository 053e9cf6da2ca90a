import json

import pytest

FOSSILS = """An animal dies.
It is buried in the mud.
The soft parts of the body decay.
The mud becomes rock.
Minerals replace the bones.
"""


@pytest.fixture
def fossils(tmp_path, monkeypatch):
    monkeypatch.setenv("KOALA_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "fossils.txt"
    path.write_text(FOSSILS)
    return path


def test_retrieve_finds_the_triples_of_figure_1(koala, fossils):
    done = koala("knowledge", "retrieve", fossils, "--entity", "bones", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert len(found) == 10
    assert {"head", "relation", "tail", "weight", "match", "score", "sentence"} <= found[0].keys()
    # The example of the paper: bones belong to an animal.
    assert any(
        one["match"] == "exact" and "animal" in one["sentence"] and "bone" in one["sentence"]
        for one in found
    )
    matches = [one["match"] for one in found]
    assert matches == sorted(matches)  # exact before fuzzy


def test_the_table_and_several_entities(koala, fossils):
    done = koala(
        "knowledge", "retrieve", fossils, "--entity", "bones", "--entity", "mud", "-k", "3"
    )
    assert done.returncode == 0
    assert "Triples for bones" in done.stdout
    assert "Triples for mud" in done.stdout
    assert "estimate" in done.stdout


def test_json_of_several_entities_is_an_object_of_lists(koala, fossils):
    words = ("knowledge", "retrieve", fossils, "--entity", "bones", "--entity", "mud", "--json")
    value = json.loads(koala(*words, "-k", 2).stdout)
    assert {name: len(found) for name, found in value.items()} == {"bones": 2, "mud": 2}
    done = koala(*words, "--entity", "bones")
    assert done.returncode == 2
    assert "'bones' was given more than once" in done.stderr


def test_an_entity_that_the_text_never_names_gives_a_warning(koala, fossils):
    words = ("knowledge", "retrieve", fossils, "--json", "-k", 1, "--entity", "bones")
    assert koala(*words).stderr == ""
    done = koala(*words, "--entity", "unicorn")
    assert done.stderr == "Warning: the text never names unicorn.\n"
    assert json.loads(done.stdout).keys() == {"bones", "unicorn"}


def test_a_store_built_by_the_user(koala, fossils, tmp_path):
    (tmp_path / "mine.tsv").write_text("bone\tAtLocation\tmud\t2.0\n")
    store = tmp_path / "mine.store"
    assert koala("knowledge", "build", tmp_path / "mine.tsv", "-o", store).returncode == 0
    done = koala("knowledge", "retrieve", fossils, "--entity", "bones", "--store", store, "--json")
    (one,) = json.loads(done.stdout)
    assert (one["relation"], one["match"], one["weight"]) == ("AtLocation", "exact", 2.5)
    value = json.loads(koala("knowledge", "stats", "--store", store, "--json").stdout)
    assert value["triples"] == 1


def test_wrong_calls(koala, fossils, tmp_path):
    for words, problem in (
        (("retrieve", tmp_path / "none.txt", "--entity", "x"), "no such file"),
        (("retrieve", fossils), "--entity"),
        (("retrieve", fossils, "--entity", " "), "empty"),
        (("retrieve", fossils, "--entity", "x", "--store", tmp_path / "no"), "no such store"),
        (("retrieve", fossils, "--entity", "x", "--store", fossils), "fossils.txt"),
        (("retrieve", fossils, "--entity", "bon\udce9"), "is not Unicode text"),
        (("build", tmp_path / "none.tsv", "-o", tmp_path / "s"), "none.tsv"),
        (("build", fossils, "-o", "-"), "A store cannot go to stdout"),
        (("build", fossils, "-o", ""), "name of the file to write is empty"),
        (("build", fossils, "-o", fossils), "would overwrite an input"),
        (("stats", "--store", fossils), "fossils.txt"),
    ):
        done = koala("knowledge", *words)
        assert done.returncode == 2, (words, done.stderr)
        assert problem in done.stderr
        assert "Traceback" not in done.stderr
