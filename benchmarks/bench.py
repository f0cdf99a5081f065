"""The contest: bopp and its peers on the same tasks, from the same given points, resumable.

python benchmarks/bench.py [--part table] [--groups ...] [--peers ...] [--jobs 1] [--limit-seconds N]
                           [--label NAME] [--again]

A run that has a record is not repeated, unless --again drops the records of these peers first.
"""

import argparse
import math
import sys

from contest.peers import PEERS, installed
from contest.records import KEPT, file_of, note_versions
from contest.runs import MODULES, execute, missing, planned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--part", choices=KEPT, default="table")
    parser.add_argument("--groups", nargs="+", choices=MODULES, default=list(MODULES))
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each of one thread")
    parser.add_argument("--limit-seconds", type=float, default=math.inf, help="when to stop, if not done")
    parser.add_argument("--label", help="the name to record the runs by, instead of the peer's")
    parser.add_argument("--again", action="store_true", help="drop the records of these peers first")
    options = parser.parse_args()

    peers = installed(options.peers)
    if options.label and len(peers) != 1:
        parser.error("--label wants one peer")
    if options.again:
        for peer in peers:
            for group in options.groups:
                file_of(options.part, group, options.label or peer).unlink(missing_ok=True)
    everything = [
        plan for peer in peers for group in options.groups for plan in planned(group, options.part, peer)
    ]
    plans = missing(everything, options.label)
    print(f"{len(everything) - len(plans)} runs recorded, {len(plans)} to make", file=sys.stderr)
    if options.part == "table":
        note_versions(KEPT["table"] / "versions.json", {plan.peer for plan in plans})
    made = execute(plans, options.jobs, options.label, options.limit_seconds)
    if made < len(plans):
        sys.exit(f"{len(plans) - made} runs are missing: the same command makes them")


if __name__ == "__main__":
    main()
