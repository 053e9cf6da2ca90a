import json


def test_stats_show_the_paper_beside(koala, data):
    done = koala("data", "stats", data / "propara")
    assert done.returncode == 0
    for cell in ("391 (391)", "1,504 (1,504)", "61.1 (61.1)", "57.8 (57.8)", "67.0 (67.0)"):
        assert cell in done.stdout
    done = koala("data", "stats", data / "recipes")
    assert "6,089 (5,932)" in done.stdout
    assert "157 entities more" in done.stdout.replace("\n", " ")


def test_stats_as_json(koala, data):
    value = json.loads(koala("data", "stats", data / "propara", "--json").stdout)
    assert value["splits"]["dev"]["procedures"] == 43


def test_candidates(koala, data):
    value = json.loads(koala("data", "candidates", data / "propara", "--json").stdout)
    assert value["place_recall"] >= 0.87
    assert koala("data", "candidates", data / "propara", "--split", "test").returncode == 2


def test_folders_without_a_corpus(koala, tmp_path):
    done = koala("data", "stats", tmp_path)
    assert done.returncode == 2
    assert "Expected csv/ or leaderboard/" in done.stderr
