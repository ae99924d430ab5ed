"""Exchange: what follows when one feature is taken from another image, and the code is decoded; needs factors.

Pairs of rows, a host and a donor, are encoded. Feature k of the host's code is replaced by the donor's, the code is
decoded, and a network that was trained on real images of the data set names the factors of the result. For each feature
k and factor j, over the pairs that differ in j: how often is the result named as the donor's value (follows), as the
host's (stays), or as neither? Of a factor that is a quantity (`ordered`) a value counts for the donor if it lies nearer
to the donor's than half of the way between the two, and for the host likewise.

    credit(k, j) = donor(k, j) + min over k' != k of host(k', j) - 1
    value        = mean over factors j of credit(feature of j, j), at least 0

The features of the factors are those with the largest sum, each feature being that of at most one factor; where there
are fewer features than factors, each is that of at least one. The value is 1 if each factor follows its own feature and
stays whenever another one is exchanged. It is 0 if exchanges do the same whichever feature is exchanged (donor + host
<= 1), if they do nothing, or if one feature moves everything. Credit is the sum of a test's sensitivity and specificity
less one. The chance level is the value where it is shuffled, pair by pair, which feature was exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from unbraid.config import Count, Rate, Size
from unbraid.data.table import Rows, Table
from unbraid.encode import images
from unbraid.errors import UserError
from unbraid.machine import forked_rng, seed_torch
from unbraid.maths.schedule import falling
from unbraid.methods.contract import Method
from unbraid.metrics.contract import Score, metric
from unbraid.metrics.model.contract import Model
from unbraid.nets.autoencoders import encoder

CHUNK = 256  # images named at once
SHUFFLES = 10  # for the chance level
QUANTILES = (0.025, 0.975)
GOOD = 0.9  # of real images that the judge should name right
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@metric
def exchange(
    method: Method[Any],
    table: Table,
    rng: np.random.Generator,
    *,
    pairs: Size = 1000,
    ordered: Sequence[int] | None = None,
    bootstrap: Count = 200,
    train: Size = 10_000,
    steps: Size = 1000,
    batch: Size = 64,
    net: Literal["conv", "mlp", "dense"] = "conv",
    width: Size = 16,
    lr: Rate = 1e-3,
) -> Score:
    """How far each factor follows one feature of its own, and no other, when features are exchanged between images.

    Args:
        pairs: hosts with donors; each feature is exchanged in all of them
        ordered: places of factors that are quantities, whose values may be near
        bootstrap: resamplings of the pairs for the interval; 0: no interval
        train: real images that train the judge, half of the rows at most; hosts and donors are others
        steps: training steps of the judge
        batch: images in a step
        net: network of the judge
        width: channels of its first convolution
        lr: learning rate of its Adam; it falls over the second half of the steps
    """
    params: dict[str, Any] = {"pairs": pairs, "ordered": ordered, "train": train, "steps": steps}
    params |= {"batch": batch, "net": net, "width": width, "lr": lr}
    if wrong := [k for k in ordered or () if not 0 <= k < len(table.factors)]:
        raise UserError(f"ordered has the place {wrong[0]}, and there are {len(table.factors)} factors, the first is 0")
    order = rng.permutation(len(table))
    learn, rest = np.split(order, [min(train, len(table) // 2)])
    hosts, donors = rest[rng.integers(len(rest), size=(2, pairs))]
    there, values = (table.values(rows) for rows in (hosts, donors))  # [n, factors]
    kept = np.flatnonzero((there != values).any(0)) if there.shape[1] else np.zeros(0, np.int64)
    model = Model(method, table)
    if not len(kept) or len(model.features) < 2:
        reason = "exchange needs factors that vary, and two features or more"
        return Score(float("nan"), n=pairs, params=params, warnings=(reason,))
    judge = _Judge(method, table, kept, net="dense" if table.shape[1] == 1 else net, width=width, rng=rng)
    judge.learn(learn, [rng.integers(len(learn), size=batch) for _ in range(steps)], lr)
    quantities = np.isin(kept, ordered or ())
    real, drawn, exchanged = _named(model, judge, hosts, donors)
    follows = Follows.of(np.stack([real, drawn, *exchanged]), there[:, kept], values[:, kept], quantities)
    names = [table.factors[k].name for k in kept]
    return _score(follows, names, rng, bootstrap, params)


@dataclass(frozen=True)
class Follows:
    """Whether the image after an exchange follows the donor or the host, 1 or 0, [features, n, factors]."""

    donor: Floats
    host: Floats
    differs: Floats  # [n, factors] whether the two differ in a factor; both are 0 elsewhere

    @classmethod
    def of(cls, named: Ints, hosts: Ints, donors: Ints, quantities: NDArray[np.bool_]) -> Follows:
        """From values named in images [features, n, factors] and those of hosts and donors [n, factors]."""
        gap = np.abs(hosts - donors)
        differs = (gap > 0).astype(np.float64)
        donor, host = (np.where(quantities, 2 * np.abs(named - of) < gap, named == of) for of in (donors, hosts))
        return cls(donor * differs, host * differs, differs)

    def rates(self, counts: Floats | None = None) -> tuple[Floats, Floats]:
        """Of donors and of hosts, [features, factors]; `counts` [n] says how often each pair is there."""
        weights = np.ones(len(self.differs)) if counts is None else counts
        total = np.maximum(weights @ self.differs, 1e-12)
        donor, host = (np.einsum("n,knj->kj", weights, each) / total for each in (self.donor, self.host))
        return donor, host

    def reordered(self, order: Ints) -> Follows:
        """With the features of each pair in another order, [features, n]."""
        donor, host = (np.take_along_axis(each, order[..., None], 0) for each in (self.donor, self.host))
        return Follows(donor, host, self.differs)

    def __getitem__(self, features: slice) -> Follows:
        return Follows(self.donor[features], self.host[features], self.differs)


def credited(donor: Floats, host: Floats) -> tuple[Floats, Ints]:
    """The credit of each factor with its own feature, and that feature, from rates [features, factors]."""
    others = np.stack([np.delete(host, k, 0).min(0) for k in range(len(host))])
    credit = donor + others - 1
    features, factors = credit.shape
    first = credit + 4 * factors  # more than anything else can weigh: no feature is used twice while one is unused
    copies = np.concatenate([first, *[credit] * max(0, factors - features)])
    row, column = linear_sum_assignment(copies, maximize=True)
    own = row[np.argsort(column)] % features
    return credit[own, np.arange(factors)], own


def _score(
    follows: Follows, names: list[str], rng: np.random.Generator, bootstrap: int, params: dict[str, Any]
) -> Score:
    """From real images, reconstructions and exchanges of each feature, in this order."""
    exchanged, (right, kept) = follows[2:], follows[:2].rates()[1]
    (donor, host), n = exchanged.rates(), len(follows.differs)
    each, own = credited(donor, host)
    plain = float(each.mean())
    order = [np.argsort(rng.random(exchanged.donor.shape[:2]), 0) for _ in range(SHUFFLES)]
    null = float(np.mean([max(0.0, credited(*exchanged.reordered(o).rates())[0].mean()) for o in order]))
    low = high = None
    if bootstrap > 1:
        draws = rng.multinomial(n, np.full(n, 1 / n), bootstrap).astype(np.float64)
        again = np.array([credited(*exchanged.rates(counts))[0].mean() for counts in draws])
        low, high = np.clip(plain + np.quantile(again - again.mean(), QUANTILES), 0.0, 1.0).tolist()
    parts = {"donor": donor, "host": host, "neither": 1 - donor - host, "per_factor": each, "feature": own}
    parts |= {"judge": right, "reconstruction": kept, "ceiling": np.maximum(0.0, (2 * kept - 1).mean())}
    weak = [f"{name} ({share:.2f})" for name, share in zip(names, right, strict=True) if share < GOOD]
    notes = (f"the judge names few real images right: {', '.join(weak)}; more steps may help",) if weak else ()
    plain_parts = {name: part.tolist() for name, part in parts.items()}
    interval = f"{bootstrap} bootstrap samples of the pairs" if bootstrap > 1 else None
    params = {**params, "factors": names, "interval": interval, "shuffles": SHUFFLES}
    return Score(max(0.0, plain), plain_parts, low, high, null, n, params, notes)


class _Judge:
    """A network that names the values of some factors of images."""

    def __init__(
        self, method: Method[Any], table: Table, factors: Ints, *, net: str, width: int, rng: np.random.Generator
    ) -> None:
        self.method, self.table, self.factors = method, table, factors
        self.sizes = [table.factors[k].size for k in factors]
        with forked_rng("cpu"):
            seed_torch(int(rng.integers(2**31)), "cpu")
            self.net: nn.Module = encoder(net, table.shape, sum(self.sizes), width=width)
        self.net.to(next(method.parameters()).device)

    def learn(self, rows: Rows, batches: list[Ints], lr: float) -> None:
        adam = torch.optim.Adam(self.net.parameters(), lr)
        for step, some in enumerate(batches):
            adam.param_groups[0]["lr"] = lr * falling(step, len(batches), 0.5)
            x = images(self.method, self.table, rows[some])
            values = torch.from_numpy(self.table.values(rows[some])[:, self.factors]).to(x.device)
            logits = self.net(x).split(self.sizes, 1)
            loss = torch.stack([F.cross_entropy(z, y) for z, y in zip(logits, values.T, strict=True)]).sum()
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()

    @torch.no_grad()
    def named(self, x: Tensor) -> Ints:
        """[n, c, h, w] -> [n, factors]"""
        values = torch.stack([z.argmax(1) for z in self.net(x).split(self.sizes, 1)], 1)
        found: Ints = values.cpu().numpy()
        return found


def _named(model: Model, judge: _Judge, hosts: Rows, donors: Rows) -> tuple[Ints, Ints, Ints]:
    """Values named in the hosts, their reconstructions [n, factors] and the exchanges [features, n, factors]."""
    real, drawn, exchanged = list[Ints](), list[Ints](), list[Ints]()
    for start in range(0, len(hosts), CHUNK):
        some = slice(start, start + CHUNK)
        code, other = model.encode(hosts[some]), model.encode(donors[some])
        real.append(judge.named(images(model.method, model.table, hosts[some])))
        drawn.append(judge.named(model.decode(code)))
        moved = []
        for columns in model.features:
            changed = code.clone()
            changed[:, columns] = other[:, columns]
            moved.append(judge.named(model.decode(changed)))
        exchanged.append(np.stack(moved))
    return np.concatenate(real), np.concatenate(drawn), np.concatenate(exchanged, 1)
