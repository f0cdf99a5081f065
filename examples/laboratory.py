"""A laboratory study by hand: three settings to try at a time, with yields typed in whenever they are known.

Stop it at any time and start it again: what was told is kept, and settings still to be tried are shown again.
"""

import bopp

SPACE: dict[str, bopp.Parameter] = {
    "temperature": bopp.Float(20, 90),
    "minutes": bopp.Int(5, 120, log=True),
    "solvent": bopp.Choice(["water", "ethanol", "acetone"]),
}
AT_ONCE = 3


def main() -> None:
    # lease=None: a trial is ours until we tell it, however many days the experiment takes
    study = bopp.open_study("sqlite:///laboratory.db", "yield", SPACE, direction="maximize", lease=None)
    print("Yield in percent; 'failed' with a reason; nothing to stop for today.")
    while True:
        waiting = [trial for trial in study.trials if trial.state == "asked"]
        waiting += [study.ask() for _ in range(AT_ONCE - len(waiting))]
        for trial in waiting:
            print(f"trial {trial.number}: {trial.params}")
        for trial in waiting:
            answer = input(f"yield of trial {trial.number}? ").strip()
            if not answer:
                print(f"Kept: {len(study.trials)} trials in {study.url}")
                return
            if answer.startswith("failed"):
                study.fail(trial, answer.removeprefix("failed").strip() or "no reason given")
            else:
                study.tell(trial, number_in(answer))
        if any(trial.state == "done" for trial in study.trials):
            print(f"best so far: {study.best.value} with {study.best.params}")


def number_in(answer: str) -> float:
    while True:
        try:
            return float(answer)
        except ValueError:
            answer = input(f"a number such as 41.5, not {answer!r}: ").strip()


if __name__ == "__main__":
    main()
