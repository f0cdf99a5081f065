"""Entropy search and FITBO, which BoTorch lacks, beside those it has, with and without a pending point.

It needs the botorch extra: pip install '.[botorch]'.

Larger is better; x* is the location of the maximum and eta its value, D is the data, H is entropy.
"""

import math
from collections.abc import Callable, Sequence

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import LogProbabilityOfImprovement
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy
from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch
from botorch.acquisition.utils import get_optimal_samples
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.test_functions import Branin
from botorch.utils.sampling import draw_sobol_normal_samples, draw_sobol_samples
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from bopp.bridges.botorch import condition_on_pseudo_points
from bopp.pseudo import Pending

PROBLEM = Branin(negate=True)  # three maxima of the same height
BOUNDS = PROBLEM.bounds
Condition = Callable[[SingleTaskGP], SingleTaskGP]


class EntropySearch(AcquisitionFunction):
    """What y at x would tell about x*: H[p(x* | D)] - E_y H[p(x* | D, x, y)] (Hennig and Schuler, 2012).

    p(x*) is the share of samples of f that are largest at each of the representers (m, d). Its mean over y is
    p(x* | D), so that mean is used in the first term, and the gain is never negative. It has no gradient.
    """

    def __init__(
        self, model: SingleTaskGP, representers: Tensor, num_fantasies: int = 16, num_samples: int = 256
    ):
        super().__init__(model)
        self.representers = representers
        self.normal = draw_sobol_normal_samples(len(representers), num_samples, dtype=torch.double, seed=0).T
        self.fantasies = normal_quantiles(num_fantasies)  # of y, in standard deviations

    def forward(self, X: Tensor) -> Tensor:
        joint = self.model.posterior(torch.cat([X, self.representers.expand(len(X), -1, -1)], dim=1))
        mean, covariance = joint.mean[:, 1:], joint.distribution.covariance_matrix
        sd = self.model.posterior(X, observation_noise=True).variance.sqrt()
        shift = covariance[:, 1:, :1] / sd  # of f at the representers, for each standard deviation of y
        rest = covariance[:, 1:, 1:] - shift @ shift.mT  # of f there after seeing y, whatever y is
        jitter = 1e-8 * covariance.diagonal(dim1=1, dim2=2).amax(dim=1)
        root = torch.linalg.cholesky(rest + jitter[:, None, None] * torch.eye(len(self.representers)))
        samples = mean + root @ self.normal
        p = torch.stack([shares_of_maxima(samples + z * shift) for z in self.fantasies])
        return entropy(p.mean(dim=0)) - entropy(p).mean(dim=0)


class FITBO(AcquisitionFunction):
    """What y at x would tell about eta: H[p(y | D, x)] - E_eta H[p(y | D, x, eta)] (Ru et al., 2018).

    They minimise, f = eta + g^2 / 2; here f = eta - g^2 / 2. Where g is N(m, v), f linearised at g = m is
    N(eta - m^2 / 2, m^2 v); as eta is uncertain, y is a mixture of these, plus noise.
    """

    def __init__(self, models: Sequence[SingleTaskGP], etas: Tensor, weights: Tensor, noise: float):
        super().__init__(models[0])
        self.models, self.etas, self.weights, self.noise = models, etas, weights, noise

    def forward(self, X: Tensor) -> Tensor:
        posteriors = [model.posterior(X) for model in self.models]
        m = torch.cat([posterior.mean[:, 0] for posterior in posteriors], dim=1)
        v = torch.cat([posterior.variance[:, 0] for posterior in posteriors], dim=1)
        variance = m**2 * v + self.noise
        members = 0.5 * torch.log(2.0 * math.pi * math.e * variance)
        return mixture_entropy(self.etas - m**2 / 2.0, variance, self.weights) - members @ self.weights


def make_fitbo(model: SingleTaskGP, X: Tensor, Y: Tensor, condition: Condition) -> FITBO:
    """FITBO with a model of g for each of eight etas, weighted by how well it explains the real data.

    The sign of g is free; if it is negative, larger is better for g too, as policies expect.
    """
    etas = Y.max() + 0.5 * Y.std() * normal_quantiles(8).exp()
    models, evidences = [], []
    for eta in etas:
        g = -(2.0 * (eta - Y)).sqrt()
        models.append(fitted(X, g))
        log_p = ExactMarginalLogLikelihood(models[-1].likelihood, models[-1].train())
        each = log_p(models[-1](X), models[-1].train_targets).detach() - g.std().log()  # of g, unstandardised
        evidences.append(len(Y) * each - g.abs().log().sum())  # of y, as |dg / dy| = 1 / |g|
    weights = torch.softmax(torch.stack(evidences), dim=0)
    noise = float(model.likelihood.noise.detach() * Y.var())
    return FITBO([condition(model_of_g.eval()) for model_of_g in models], etas, weights, noise)


def normal_quantiles(count: int) -> Tensor:
    return torch.special.ndtri((torch.arange(count, dtype=torch.double) + 0.5) / count)


def shares_of_maxima(samples: Tensor) -> Tensor:
    """The share (b, m) of the samples (b, m, s) that are largest at each place."""
    places = samples.argmax(dim=1)
    one = samples.new_ones(places.shape)
    return samples.new_zeros(samples.shape[:2]).scatter_add(1, places, one) / samples.shape[2]


def entropy(p: Tensor) -> Tensor:
    return -torch.xlogy(p, p).sum(dim=-1)


def mixture_entropy(mean: Tensor, variance: Tensor, weights: Tensor) -> Tensor:
    """H (b,) of mixtures of k Gaussians (b, k): -sum_i w_i E_i[log p(y)], each E_i by quadrature."""
    z = torch.linspace(-8.0, 8.0, 257, dtype=torch.double)
    density, sd = torch.softmax(-0.5 * z**2, dim=0), variance.sqrt()
    y = mean[:, :, None, None] + sd[:, :, None, None] * z[:, None]
    members = torch.distributions.Normal(mean[:, None, None, :], sd[:, None, None, :])
    log_p = (members.log_prob(y) + weights.log()).logsumexp(dim=-1)
    return -(log_p @ density) @ weights


def fitted(X: Tensor, Y: Tensor) -> SingleTaskGP:
    model = SingleTaskGP(X, Y, input_transform=Normalize(X.shape[1], bounds=BOUNDS))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def suggestions(model: SingleTaskGP, condition: Condition, X: Tensor, Y: Tensor) -> dict[str, list[float]]:
    """The best of 200 candidates by each function, on the conditioned model."""
    torch.manual_seed(0)
    candidates = draw_sobol_samples(BOUNDS, 200, 1, seed=2)
    believed = condition(model)
    ucb = UpperConfidenceBound(believed, beta=4.0)
    functions = {
        "UCB": ucb,
        "PI": LogProbabilityOfImprovement(believed, Y.max()),
        "EI": LogExpectedImprovement(believed, Y.max()),
        "MES": qMaxValueEntropy(believed, candidates[:, 0]),
        "PES": qPredictiveEntropySearch(believed, get_optimal_samples(believed, BOUNDS, num_optima=8)[0]),
        "ES": EntropySearch(believed, candidates[ucb(candidates).topk(50).indices, 0]),
        "FITBO": make_fitbo(model, X, Y, condition),
    }
    with torch.no_grad():
        return {name: candidates[f(candidates).argmax(), 0].tolist() for name, f in functions.items()}


def main() -> None:
    torch.set_num_threads(1)  # more are slower with such small matrices
    X = draw_sobol_samples(BOUNDS, 10, 1, seed=1).squeeze(1)
    Y = PROBLEM(X).unsqueeze(1)
    model = fitted(X, Y)
    plain = suggestions(model, lambda each: each, X, Y)
    running = torch.tensor([plain["EI"]], dtype=torch.double)
    policy = Pending("incumbent")  # one height for all models; their own means would drive the etas apart
    aware = suggestions(
        model, lambda each: condition_on_pseudo_points(each, policy, BOUNDS, pending=running), X, Y
    )
    print("pending: ({:.2f}, {:.2f}); suggested without and with it as a pseudo-point:".format(*plain["EI"]))
    for name in plain:
        print("{:5} ({:5.2f}, {:5.2f})  ({:5.2f}, {:5.2f})".format(name, *plain[name], *aware[name]))


if __name__ == "__main__":
    main()
