"""Make the page of the goals from their records.

python benchmarks/goals_report.py --out docs/goals-benchmarks.md
python benchmarks/goals_report.py --part choosing     prints the tables of every label that has records
"""

import argparse
from pathlib import Path

from goals.problems import PARTS
from goals.report import comparison, page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="the page to write, of the table")
    parser.add_argument("--part", choices=PARTS, help="print the tables of a part, with every label")
    options = parser.parse_args()
    if not (options.out or options.part):
        parser.error("say --out, --part or both")
    if options.out:
        options.out.write_text(page())
    if options.part:
        print(comparison(options.part))


if __name__ == "__main__":
    main()
