"""Compress the text of a Python module with LZMA and print how many bytes are left; any program will do."""

import argparse
import lzma
from pathlib import Path

FINDERS = {"hc3": lzma.MF_HC3, "hc4": lzma.MF_HC4, "bt2": lzma.MF_BT2, "bt3": lzma.MF_BT3, "bt4": lzma.MF_BT4}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("lc", "lp", "pb", "nice"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--finder", choices=FINDERS)
    setting = parser.parse_args()
    text = Path(argparse.__file__).read_bytes()  # some real text, which every Python has
    way = {
        "id": lzma.FILTER_LZMA2,
        "lc": setting.lc,
        "lp": setting.lp,
        "pb": setting.pb,
        "nice_len": setting.nice,
        "mf": FINDERS[setting.finder],
    }
    compressed = lzma.compress(text, lzma.FORMAT_RAW, filters=[way])
    print(len(compressed))  # the last line, a single number, is the value


if __name__ == "__main__":
    main()
