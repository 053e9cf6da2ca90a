"""Progress of long work."""

from koala.cli.progress import show_progress


def test_a_bar_says_how_many_a_second(monkeypatch, capsys):
    times = iter([0.0, 4.0])
    monkeypatch.setattr("koala.cli.progress.monotonic", lambda: next(times))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with show_progress("Tracking") as tell:
        tell(50, 200, 30)
    shown = capsys.readouterr().err
    assert "Tracking" in shown
    assert "25%" in shown
    assert "7.5/s" in shown


def test_nothing_is_drawn_where_there_is_no_terminal(capsys):
    with show_progress("Tracking") as tell:
        tell(50, 200)
    assert capsys.readouterr().err == ""
