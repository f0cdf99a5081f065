"""Tune a support vector regression on medical data: five parameters of three kinds, fifty evaluations."""

from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

import bopp

PATIENTS, PROGRESSION = load_diabetes(return_X_y=True)

SPACE: dict[str, bopp.Parameter] = {
    "degree": bopp.Int(1, 3),
    "kernel": bopp.Choice(["rbf", "sigmoid"]),
    "C": bopp.Float(0.1, 10_000, log=True),
    "gamma": bopp.Float(1e-6, 1, log=True),
    "epsilon": bopp.Float(0.1, 100, log=True),
}


def prediction_error(params: bopp.Params) -> float:
    """The root mean squared error of five-fold cross-validation."""
    model = make_pipeline(
        PolynomialFeatures(params["degree"], include_bias=False),
        StandardScaler(),
        SVR(kernel=params["kernel"], C=params["C"], gamma=params["gamma"], epsilon=params["epsilon"]),
    )
    scores = cross_val_score(model, PATIENTS, PROGRESSION, cv=5, scoring="neg_root_mean_squared_error")
    return -float(scores.mean())


def main() -> None:
    result = bopp.minimize(prediction_error, SPACE, budget=50, seed=0)
    best = result.best
    print(f"best error: {best.value:.3f}, in trial {best.number + 1} of {len(result.trials)}")
    for name, value in best.params.items():
        print(f"    {name} = {value!r}")
    result.plot_convergence("convergence.png")
    print("picture: convergence.png")


if __name__ == "__main__":
    main()
