"""The lightest beam that holds: how far it bends is measured, and what is too slender is known beforehand.

python examples/constrained.py
"""

import bopp

LOAD, LENGTH = 1_500.0, 3.0  # newtons at the free end, metres
MATERIALS = {"aluminium": (70e9, 2_700.0), "oak": (11e9, 700.0), "steel": (210e9, 7_850.0)}


def beam(width: float, height: float, material: str) -> dict[str, float]:
    """The weight in kg of a beam that is fixed at one end, and by how many mm a load bends the other."""
    stiffness, density = MATERIALS[material]
    bending = 4.0 * LOAD * LENGTH**3 / (stiffness * width * height**3)  # stands for a simulation
    return {"weight": density * width * height * LENGTH, "bending": 1000.0 * bending}


PROBLEM = bopp.Problem(
    space={
        "width": bopp.Float(0.03, 0.3),
        "height": bopp.Float(0.03, 0.3),
        "material": bopp.Choice(list(MATERIALS)),
    },
    objectives={"weight": "minimize"},
    constraints=[
        bopp.AtMost("bending", 10.0),  # measured: how it turns out is learned from the trials
        bopp.Linear({"height": 1, "width": -2.5}, at_most=0, name="not too slender"),  # every trial meets it
    ],
)


def main() -> None:
    result = bopp.optimize(beam, PROBLEM, budget=40, progress=False)
    best, broken = result.best, [trial for trial in result.trials if result.problem.broken(trial)]
    print(f"best weight: {best.values['weight']:.2f} kg, bending: {best.values['bending']:.2f} mm")
    print(best.params)
    print(f"{len(broken)} of {len(result.trials)} beams bent too far")
    print(result.explain(best))


if __name__ == "__main__":
    main()
