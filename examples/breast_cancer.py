"""What varies in malignant tumours and not in benign ones, and is it so for every seed?

    python examples/breast_cancer.py [steps] [seeds]

Writes cases.csv and controls.csv from scikit-learn's breast cancer data (30 measurements of cell nuclei), trains
salient_vae once for each seed, and prints the tables of docs/cases_and_controls.md.
"""

import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

import unbraid
from unbraid.model import Model

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
MOVES = 0.5  # standard deviations of some feature: a latent that moves less is idle

frame, benign = load_breast_cancer(return_X_y=True, as_frame=True)
frame.insert(0, "sample", [f"fna{i}" for i in range(len(frame))])
frame[benign == 0].to_csv("cases.csv", index=False)
frame[benign == 1].to_csv("controls.csv", index=False)

data = unbraid.load_data("two_folders", target="cases.csv", background="controls.csv", id="sample", test_rows=50)
cases, controls = (pd.read_csv(f"{name}.csv").drop(columns="sample") for name in ("cases", "controls"))


def explained(codes: Any, by: Any) -> float:
    """R2 of a linear prediction of codes [n, d] by others [n, k], weighted by variance."""
    return float(LinearRegression().fit(by, codes).score(by, codes))


def drawn(model: Model, x: pd.DataFrame) -> tuple[float, float]:
    """Share of the variance of x that is in its reconstruction: of all scaled features, and of the mean texture."""
    assert model.scaling is not None
    errors, squares = ((y / model.scaling.spread) ** 2 for y in (model.reconstruct(x) - x, x - x.mean()))
    return 1 - errors.to_numpy().sum() / squares.to_numpy().sum(), 1 - (errors.sum() / squares.sum())["mean texture"]


def largest(sizes: Any, names: Any, n: int = 4) -> str:
    return ", ".join(f"{names[i]} {sizes[i]:+.1f}" for i in np.argsort(-np.abs(sizes))[:n])


print("| seed | latent | moves most, in standard deviations |\n|---|---|---|")
found: list[Any] = []
for seed in range(seeds):
    method = unbraid.build("salient_vae", data, seed=seed, salient=4, common=4, beta=1.0)
    run = unbraid.fit(method, data, steps=steps, batch=64, seed=seed, show=False)
    unbraid.represent(run, method, data)
    scores = unbraid.score(run)
    model = unbraid.load_run(run.path)
    effects = model.effects(cases).pivot(index="latent", columns="feature", values="standardised")[list(cases.columns)]
    moving = [name for name in effects.index[effects.abs().max(axis=1) >= MOVES] if name in model.feature_names[:4]]
    for name in moving:
        print(f"| {seed} | {name} | {largest(effects.loc[name].to_numpy(), cases.columns)} |")
    salient = pd.DataFrame(model.transform(cases), columns=model.feature_names)[moving].to_numpy()
    common = [n for n in effects.index if n.startswith("z") and effects.loc[n].abs().max() >= MOVES]
    shares = [f"{share:.2f}" for x in (cases, controls) for share in drawn(model, x)]
    found.append((salient, scores, {n: largest(effects.loc[n].to_numpy(), cases.columns) for n in common}, shares))

print(
    "\n| seed | common latents that move anything | salience (targets) | set_from_z | z_from_s |\n|---|---|---|---|---|"
)
for seed, (_, scores, common, _) in enumerate(found):
    salience = f"{scores['salience'].value:.2f} ({scores['salience'].parts['target']:.2f})"
    shown = "; ".join(f"{name}: {text}" for name, text in common.items()) or "none"
    print(f"| {seed} | {shown} | {salience} | {scores['set_from_z'].value:.2f} | {scores['z_from_s'].value:.2f} |")

print("\n| variance drawn | of cases | their mean texture | of controls | their mean texture |\n|---|---|---|---|---|")
for seed, (*_, shares) in enumerate(found):
    print(f"| {seed} | {' | '.join(shares)} |")

both = pd.concat([cases, controls])
scaled = (cases - both.mean()) / both.std(ddof=0)
others = (controls - both.mean()) / both.std(ddof=0)
contrast = np.linalg.eigh(np.cov(scaled.T) - 2 * np.cov(others.T))[1][:, ::-1][:, :2]
planes = {
    "PCA of the cases": PCA(2).fit(scaled),
    "PCA of both sets": PCA(2).fit(pd.concat([scaled, others])),
}
print("\n| method | component | largest loadings |\n|---|---|---|")
loadings = {name: plane.components_ for name, plane in planes.items()} | {"cPCA, alpha 2": contrast.T}
for name, components in loadings.items():
    for i, component in enumerate(components):
        print(f"| {name} | {i + 1} | {largest(component, cases.columns)} |")

print("\n| seed | salient latents | R2 from those of seed 0 | largest correlation of each with one of them "
      "| R2 from " + " | R2 from ".join(loadings) + " |\n|---|---|---|---|" + "---|" * len(loadings))  # fmt: skip
for seed, (salient, *_) in enumerate(found):
    if not salient.shape[1] or not found[0][0].shape[1]:
        print(f"| {seed} | {salient.shape[1]} |")
        continue
    start = found[0][0]
    match = np.abs(np.corrcoef(salient.T, start.T)[: salient.shape[1], salient.shape[1] :]).max(1)
    known = " | ".join(f"{explained(salient, scaled.to_numpy() @ c.T):.2f}" for c in loadings.values())
    matched = ", ".join(f"{value:.2f}" for value in match)
    print(f"| {seed} | {salient.shape[1]} | {explained(salient, start):.2f} | {matched} | {known} |")
print(unbraid.report(run))
