"""Progress bars."""

from koala.cli.progress import show_progress


def test_a_bar_shows_the_rate(monkeypatch, capsys):
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


def test_nothing_is_drawn_without_a_terminal(capsys):
    with show_progress("Tracking") as tell:
        tell(50, 200)
    assert capsys.readouterr().err == ""
