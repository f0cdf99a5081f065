"""Make the page of the contest from its records.

python benchmarks/contest_report.py --out docs/benchmarks.md [--pictures docs/pictures] [--results DIR]
python benchmarks/contest_report.py --readme
"""

import argparse
from pathlib import Path

from contest.records import KEPT
from contest.report import page, readme


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, help="the page to write")
    parser.add_argument(
        "--pictures", type=Path, help="the folder of its pictures; pictures/ beside it, if not said"
    )
    parser.add_argument("--results", type=Path, default=KEPT["table"], help="the folder of the records")
    parser.add_argument("--readme", action="store_true", help="print the table of the README")
    options = parser.parse_args()
    if not (options.out or options.readme):
        parser.error("say --out, --readme or both")
    if options.out:
        folder = options.out.resolve().parent
        pictures = (options.pictures or folder / "pictures").resolve()
        options.out.write_text(page(options.results, pictures, folder))
    if options.readme:
        print(readme(options.results))


if __name__ == "__main__":
    main()
