"""bopp and its peers on problems with constraints or several objectives, resumable.

python benchmarks/goals_bench.py [--part table] [--peers ...] [--problems ...] [--seeds ...] [--jobs 1]
                                 [--limit-seconds N] [--label NAME] [--again]
python benchmarks/goals_bench.py --part choosing --peers bopp --again --compare    prints the tables too
python benchmarks/goals_bench.py --speed           what a suggestion costs, and nothing else

A run that has a record is not repeated, unless --again drops those of these peers, problems and seeds first.
"""

import argparse
import math
import sys

from contest.peers import installed
from contest.records import note_versions
from goals.peers import PEERS
from goals.problems import PARTS, PROBLEMS
from goals.records import KEPT
from goals.runs import drop, execute, missing, planned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--part", choices=PARTS, default="table")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, help="of the part; all, if not said")
    parser.add_argument(
        "--seeds", nargs="+", type=int, help="ten for the table, five for choosing, if not said"
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each of one thread")
    parser.add_argument("--limit-seconds", type=float, default=math.inf, help="when to stop, if not done")
    parser.add_argument("--label", help="the name to record the runs by, instead of the peer's")
    parser.add_argument("--again", action="store_true", help="drop the records of these runs first")
    parser.add_argument("--compare", action="store_true", help="print the tables of this part at the end")
    parser.add_argument("--speed", action="store_true", help="measure what a suggestion costs instead")
    options = parser.parse_args()
    if options.speed:
        from goals.speed import measure

        measure()
        return

    peers = installed(options.peers, PEERS)
    if options.label and len(peers) != 1:
        parser.error("--label wants one peer")
    everything = planned(options.part, peers, options.problems, options.seeds, options.label)
    if options.again:
        drop(everything)
    plans = missing(everything)
    print(f"{len(everything) - len(plans)} runs recorded, {len(plans)} to make", file=sys.stderr)
    if options.part == "table":
        note_versions(KEPT["table"] / "versions.json", {plan.peer for plan in plans}, PEERS)
    made = execute(plans, options.jobs, options.limit_seconds)
    if options.compare:
        from goals.report import comparison

        print(comparison(options.part))
    if made < len(plans):
        sys.exit(f"{len(plans) - made} runs are missing: the same command makes them")


if __name__ == "__main__":
    main()
