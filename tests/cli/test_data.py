import json


def test_stats_show_the_counts_of_the_paper(koala, data):
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
    assert value["location_recall"] >= 0.87
    assert koala("data", "candidates", data / "propara", "--split", "test").returncode == 2


def test_a_folder_without_a_corpus_is_refused(koala, tmp_path):
    done = koala("data", "stats", tmp_path)
    assert done.returncode == 2
    assert "Expected csv/ or leaderboard/" in done.stderr


def test_check_names_every_defect_and_exits_with_2(koala, tmp_path):
    good = "# [x] Toast\n1. Put the bread in the toaster.\n2. Wait.\n"
    good += "bread | ? | toaster | toaster\n"
    (tmp_path / "kitchen.txt").write_text(good)
    assert koala("data", "check", tmp_path).returncode == 0
    (tmp_path / "kitchen.txt").write_text(good.replace("| toaster\n", "| oven\n"))
    done = koala("data", "check", tmp_path)
    assert done.returncode == 2
    assert "kitchen.txt:1: Toast: bread: the text has no 'oven'." in done.stdout.replace("\n", " ")
    assert koala("data", "check", tmp_path / "none.txt").returncode == 2


def test_agreement_needs_second_annotations(koala, tmp_path):
    text = "# [x] Toast\n1. Put the bread in the toaster.\nbread | ? | toaster\n"
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "kitchen.txt").write_text(text)
    assert koala("data", "agreement", tmp_path).returncode == 2
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "kitchen.txt").write_text(text)
    value = json.loads(koala("data", "agreement", tmp_path, "--json").stdout)
    assert value["changes"]["overall"]["changes_with_location"]["f1"] == 1.0
