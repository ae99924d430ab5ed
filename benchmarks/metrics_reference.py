"""The published protocols of the metrics, written from their definitions with scikit-learn's routines, as baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
TRAIN = 10_000


def information(codes: Array, factors: Array) -> Array:
    from sklearn.metrics import mutual_info_score

    bins = [np.digitize(z, np.histogram(z, 20)[1][:-1]) for z in codes.T]
    return np.array([[mutual_info_score(y, b) for y in factors.T] for b in bins])


def mig(codes: Array, factors: Array) -> float:
    from sklearn.metrics import mutual_info_score

    matrix = np.sort(information(codes, factors), 0)
    return float(np.mean((matrix[-1] - matrix[-2]) / [mutual_info_score(y, y) for y in factors.T]))


def modularity(codes: Array, factors: Array) -> float:
    squares = information(codes, factors) ** 2
    return float(np.mean(1 - (squares.sum(1) / squares.max(1) - 1) / (squares.shape[1] - 1)))


def irs(codes: Array, factors: Array) -> float:
    widest = np.abs(codes - codes.mean(0)).max(0)
    matrix = np.zeros((codes.shape[1], factors.shape[1]))
    for k, y in enumerate(factors.T):
        held = np.digitize(y, np.histogram(y, 20)[1][:-1])
        for value in np.unique(held):
            rows = codes[held == value]
            matrix[:, k] += np.percentile(np.abs(rows - rows.mean(0)), 99, axis=0)
        matrix[:, k] /= len(np.unique(held))
    return float(np.average((1 - matrix / widest[:, None]).max(1), weights=widest))


def sap(codes: Array, factors: Array) -> float:
    from sklearn.svm import LinearSVC

    matrix = np.zeros((codes.shape[1], factors.shape[1]))
    for j in range(codes.shape[1]):
        for k in range(factors.shape[1]):
            machine = LinearSVC(C=0.01, class_weight="balanced").fit(codes[:TRAIN, [j]], factors[:TRAIN, k])
            matrix[j, k] = (machine.predict(codes[TRAIN:, [j]]) == factors[TRAIN:, k]).mean()
    best = np.sort(matrix, 0)
    return float((best[-1] - best[-2]).mean())


def explicitness(codes: Array, factors: Array) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    latents = np.ascontiguousarray(codes[:TRAIN].T)
    scaled = (codes - latents.mean(1)) / latents.std(1)
    each = []
    for y in factors.T:
        told = LogisticRegression().fit(scaled[:TRAIN], y[:TRAIN]).predict_proba(scaled[TRAIN:])
        each.append(np.mean([roc_auc_score(y[TRAIN:] == v, told[:, v]) for v in range(told.shape[1])]))
    return float(np.mean(each))


def dci(codes: Array, factors: Array, trees: int) -> float:
    from sklearn.ensemble import GradientBoostingClassifier

    importance = np.zeros((codes.shape[1], factors.shape[1]))
    for k, y in enumerate(factors.T):
        model = GradientBoostingClassifier(n_estimators=trees).fit(codes[:TRAIN], y[:TRAIN])
        importance[:, k] = np.abs(model.feature_importances_)
        model.predict(codes[TRAIN:])
    shares = importance / importance.sum(1, keepdims=True) + 1e-11
    spread = -(shares * np.log(shares)).sum(1) / np.log(importance.shape[1])
    return float(((1 - spread) * importance.sum(1)).sum() / importance.sum())
