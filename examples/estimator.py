"""Methods in the manner of scikit-learn: in a pipeline, in a grid search, and back from codes to features.

python examples/estimator.py [steps]
"""

import sys

from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import unbraid

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000

wines = load_wine(as_frame=True)
method = unbraid.Disentangler("beta_vae", beta=1, latents=4, width=8, lr=1e-3, steps=steps)

codes = method.set_output(transform="pandas").fit_transform(wines.data)
print(codes.head(3).round(2))

drawn = method.inverse_transform(codes[:3])  # in the units of the features
print(dict(zip(wines.feature_names, drawn[0].round(1), strict=True)))

search = GridSearchCV(method, {"beta": [1, 4], "latents": [2, 4]}, cv=2).fit(wines.data)
print(f"best by the evidence lower bound: {search.best_params_}, {search.best_score_:.1f} nats per wine")

classifier = make_pipeline(method.set_output(transform="default"), LogisticRegression(max_iter=1000))
print(f"accuracy from {method.latents} codes: {cross_val_score(classifier, wines.data, wines.target, cv=2).mean():.2f}")
