"""`koala annotate` with the bundled model: without questions, with answers, in a terminal."""

import os
import subprocess
import sys

import pytest

from koala.cli.annotation import Annotation
from koala.corpora.written import read_file
from koala.document import Procedure
from koala.errors import KoalaError

TEXT = "Fill the kettle with water.\nPut the kettle on the stove.\nPour the water into the cup.\n"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "tea.txt"
    path.write_text(TEXT)
    return path


def test_fixes_are_in_the_example_and_the_rest_follows(koala, text, tmp_path):
    out = tmp_path / "kitchen.txt"
    done = koala("annotate", text, "--entity", "water", "--entity", "kettle; pot", "--topic",
                 "drinks", "--title", "How is tea made?", "--fix", "water@2=the thermos",
                 "--fix", "kettle@0=-", "--accept", "-o", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    (written,) = read_file(out)
    assert (written.field, written.topic) == ("kitchen", "drinks")
    assert written.example.procedure.question == "How is tea made?"
    water, kettle = written.example.gold.rows
    assert water.locations[2] == "thermos"
    assert kettle.name == "kettle; pot"
    assert kettle.initial == "-"
    # What does not exist before step 1 is created in some step: the row was decoded again.
    assert "CREATE" in {action.value for action in kettle.actions}


def test_procedures_are_collected_and_a_title_is_replaced(koala, text, tmp_path):
    out = tmp_path / "own.txt"
    for title, fix in (("One", "water@1=kettle"), ("Two", "water@1=?"), ("One", "water@1=cup")):
        done = koala("annotate", text, "--entity", "water", "--title", title, "--fix", fix,
                     "--accept", "-o", out)  # fmt: skip
        assert done.returncode == 0, done.stderr
    found = {w.example.procedure.question: w.example.gold["water"] for w in read_file(out)}
    assert {title: row.locations[1] for title, row in found.items()} == {"Two": "?", "One": "cup"}


def test_without_an_output_the_example_is_printed(koala, text):
    done = koala("annotate", text, "--entity", "water", "--accept")
    assert done.stdout.startswith("# [own] tea\n1. Fill the kettle with water.\n")
    assert done.stdout.splitlines()[-1].startswith("water | ")


def test_answers_correct_undo_quit_and_continue(koala, text, tmp_path):
    out = tmp_path / "own.txt"
    words = ("annotate", text, "--entity", "water", "-o", out)
    # The second answer is undone; the third is for the same cell again.
    done = koala(*words, stdin=b"=u\n-\nu\n?\ng\nq\n")
    assert done.returncode == 1
    assert not out.exists()
    assert "2 decisions are saved" in done.stderr
    assert done.stdout == ""
    done = koala(*words, stdin=b"\n\n")
    assert done.returncode == 0, done.stderr
    assert "Continuing after 2 decisions" in done.stderr
    assert not out.with_name("own.txt.unfinished.json").exists()
    locations = read_file(out)[0].example.gold["water"].locations
    assert "u" in locations
    assert "?" in locations


def test_the_rest_is_accepted_at_once(koala, text):
    done = koala("annotate", text, "--entity", "water", stdin=b"w\n")
    plain = koala("annotate", text, "--entity", "water", "--accept")
    assert done.stdout == plain.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("-", "--entity", "water"), "--accept"),
        (("--entity", "water", "--accept", "--fix", "tea@1=cup"), "no such entity"),
        (("--entity", "water", "--accept", "--fix", "water@9=cup"), "steps 1 to 3"),
        (("--entity", "water", "--accept", "--topic", "a]b"), "no brackets"),
        (("--entity", "a|b", "--accept"), "contains |"),
    ],
)
def test_mistakes_are_told(koala, text, words, problem):
    words = words if words[0] == "-" else (text, *words)
    done = koala("annotate", *words, stdin=TEXT.encode())
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unfinished_annotation_of_another_text_is_not_continued(koala, text, tmp_path):
    out = tmp_path / "own.txt"
    koala("annotate", text, "--entity", "water", "-o", out, stdin=b"\nq\n")
    text.write_text("Another text. It has other steps.")
    done = koala("annotate", text, "--entity", "text", "-o", out, stdin=b"q\n")
    assert done.returncode == 2
    assert "another text" in done.stderr


def test_the_least_certain_cell_is_asked_first_and_contradictions_are_told():
    import koala

    procedure = Procedure.from_text(TEXT, ["water"])
    annotation = Annotation(koala.load(), procedure)
    question = annotation.find_question()
    cells = annotation.shown.grid["water"].steps
    assert question.confidence == min(cell.confidence for cell in cells)
    for step in (0, 1, 2):
        annotation.decide(0, step, "-")
    # An entity of a procedure exists at some time.
    with pytest.raises(KoalaError, match="contradict"):
        annotation.decide(0, 3, "-")
    assert [each.step for each in annotation.decisions] == [0, 1, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_in_a_terminal_questions_and_answers_take_turns(text, tmp_path):
    import pty

    out = tmp_path / "own.txt"
    main, side = pty.openpty()
    words = [sys.executable, "-m", "koala", "annotate", text, "--entity", "water", "-o", out]
    process = subprocess.Popen(
        [*map(str, words)],
        stdin=side,
        stdout=side,
        stderr=side,
        env={**os.environ, "COLUMNS": "90"},
    )
    os.close(side)
    seen = ""
    try:
        for answer in ("thermos", "u", "", "w"):
            while not seen.endswith("): "):
                seen += os.read(main, 4096).decode(errors="replace")
            os.write(main, f"{answer}\n".encode())
            seen += os.read(main, 4096).decode(errors="replace")
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(main)
    assert "[1/4] water" in seen
    assert "thermos" in seen
    assert read_file(out)[0].example.gold["water"].locations
