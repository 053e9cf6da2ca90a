"""Write the tables of the pages in results/ from the runs in results/runs/.

    python benchmarks/results_tables.py            # rewrite the pages
    python benchmarks/results_tables.py --check    # exit with 1 if a page is stale

The work is that of `koala report tables`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from koala.evaluation.report.tables import rewrite_pages


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite or check all pages; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, fail if one is stale")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[1] / "results")
    given = parser.parse_args(arguments)
    stale = rewrite_pages(given.folder, check=given.check)
    for page in stale:
        print(f"{page}: {'stale' if given.check else 'rewritten'}")
    return 1 if stale and given.check else 0


if __name__ == "__main__":
    sys.exit(main())
