import subprocess
import sys

from koala.cli.serve import open_trackers
from koala.errors import install_command
from koala.web.server import open_socket


def test_a_port_in_use_is_reported_before_a_model_is_loaded(koala):
    with open_socket("127.0.0.1", 0) as opened:
        done = koala("serve", "--port", opened.getsockname()[1], "--model", "nothing")
    assert done.returncode == 2
    assert "Cannot listen on 127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr


def test_listening_on_a_public_address_gives_a_warning(koala):
    done = koala("serve", "--host", "0.0.0.0", "--port", 0, "--model", "nothing")
    assert done.returncode == 2
    assert "Warning: others on the network" in done.stderr
    assert "neither bundled nor a folder" in done.stderr
    assert "Warning" not in koala("serve", "--port", 0, "--model", "nothing").stderr


def test_the_bundled_models_or_one_named_model_are_served():
    both = open_trackers(None, has_knowledge=False)
    assert both.choices == ("auto", "small", "recipes")
    assert both.choose("small", "").signature == both.signatures["small"]
    alone = open_trackers("koala-small", has_knowledge=False)
    assert alone.choices == ("auto", "small")


def test_limits_must_be_positive(koala):
    done = koala("serve", "--steps", 0)
    assert done.returncode == 2
    assert "must be above 0" in done.stderr


def test_help_has_an_example(koala):
    done = koala("serve", "--help")
    assert done.returncode == 0
    assert "Example: koala serve" in done.stdout


def test_the_missing_extra_is_named():
    code = (
        "import sys; sys.modules['fastapi'] = None; sys.argv = ['koala', 'serve']; "
        "from koala.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert install_command("web") in done.stderr
