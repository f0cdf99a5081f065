"""Find the best glaze of four powders whose shares add up to 1, fired at a temperature: thirty firings."""

import math

import bopp

SPACE: dict[str, bopp.Parameter] = {
    "feldspar": bopp.Float(0, 1),
    "silica": bopp.Float(0, 1),
    "kaolin": bopp.Float(0, 1),
    "chalk": bopp.Float(0, 1),
    "degrees": bopp.Int(1100, 1300, step=10),
}
POWDERS = ["feldspar", "silica", "kaolin", "chalk"]

CONSTRAINTS: list[bopp.Linear | bopp.Holds] = [
    bopp.Linear(dict.fromkeys(POWDERS, 1), equals=1, name="shares add up to 1"),
    bopp.Linear({"kaolin": 1, "chalk": 1}, at_most=0.5, name="kaolin and chalk are half of it at most"),
    bopp.Holds("much silica wants heat", lambda p: p["silica"] < 0.4 or p["degrees"] >= 1200),
]


def roughness(params: bopp.Params) -> float:
    """Stands for a firing: the roughness of the glaze in micrometres."""
    off = (params["feldspar"] - 0.42) ** 2 + (params["silica"] - 0.3) ** 2 + (params["chalk"] - 0.18) ** 2
    melting = 1300.0 - 300.0 * params["chalk"]
    cold = (params["degrees"] - melting) / 60.0
    return float(1.0 + 40.0 * off + cold**2 + 0.1 * math.sin(20.0 * params["kaolin"]))


def main() -> None:
    result = bopp.minimize(roughness, SPACE, budget=30, constraints=CONSTRAINTS, seed=0)
    best = result.best
    print(f"best roughness: {best.value:.3f}")
    for name, value in best.params.items():
        print(f"    {name} = {value:.4g}")
    print(f"shares: {sum(best.params[name] for name in POWDERS):.9f}")
    print(
        f"firings that broke a condition: {sum(not result.problem.allows(t.params) for t in result.trials)}"
    )


if __name__ == "__main__":
    main()
