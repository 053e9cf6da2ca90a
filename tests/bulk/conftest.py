"""Ray is started once per session, because starting takes longer than all tests."""

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session")
def ray_here():
    """Ray on this machine with two cores; `open_cluster` reuses it."""
    # find_spec, not import: open_cluster sets environment variables before it imports Ray.
    if find_spec("ray") is None:
        pytest.skip("needs Ray: the extra ray")
    from koala.bulk.ray import open_cluster

    with open_cluster(n_workers=2) as cluster:
        yield cluster
