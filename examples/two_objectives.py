"""Fast or exact? The front of two objectives: what one costs in the other. Ends with a picture.

python examples/two_objectives.py
"""

import math

import bopp


def integral(points: int, degree: int, digits: int) -> dict[str, float]:
    """How far off a quadrature is, as a power of ten, and how many multiplications it takes."""
    points += -points % degree  # whole panels
    width = 1.0 / points
    rule = {1: [1, 1], 2: [1, 4, 1], 3: [1, 3, 3, 1]}[degree]
    total = 0.0
    for panel in range(points // degree):
        for place, weight in enumerate(rule):
            x = (panel * degree + place) * width
            total += weight * round(math.exp(math.sin(5.0 * x)), digits) * degree * width / sum(rule)
    error = abs(total - 1.437823850726)
    return {"error": math.log10(error + 1e-9), "work": points * (degree + 1) / degree * digits}


PROBLEM = bopp.Problem(
    space={"points": bopp.Int(3, 300, log=True), "degree": bopp.Int(1, 3), "digits": bopp.Int(1, 9)},
    objectives={"error": "minimize", "work": "minimize"},
    reference={"error": 0.0, "work": 2000.0},  # worse than this in either is worth nothing
)


def main() -> None:
    result = bopp.optimize(integral, PROBLEM, budget=40, progress=False)
    for trial in sorted(result.front, key=lambda trial: trial.values["work"] or 0.0):
        print(f"error 1e{trial.values['error']:.1f} for {trial.values['work']:.0f}: {trial.params}")
    print(f"hypervolume: {result.hypervolume().volumes[-1]:.0f}")
    print("most exact:", result.of("error").best.params)
    result.plot_front("front.png")


if __name__ == "__main__":
    main()
