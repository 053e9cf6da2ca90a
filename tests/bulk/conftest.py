"""Ray is started once: that takes longer than all it does here."""

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session")
def ray_here():
    """Ray on this machine with two cores; whatever opens a cluster meanwhile gets this one."""
    # Not imported here: what is quiet about Ray is settled before its import.
    if find_spec("ray") is None:
        pytest.skip("needs Ray: pip install 'koala[ray]'")
    from koala.bulk.ray import open_cluster

    with open_cluster(n_workers=2) as cluster:
        yield cluster
