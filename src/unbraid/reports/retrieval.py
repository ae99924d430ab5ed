"""Images that lie next to each other in the space of one feature: what the feature is about, without any labels."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unbraid.figures import svg as figures


def section(pictures: dict[str, NDArray[Any]]) -> str:
    """A row for each feature: some images, each followed by its nearest neighbours; nothing where none were kept."""
    if "retrieval" not in pictures:
        return ""
    queries, rows = pictures["retrieval_queries"], []
    for name, found in zip(pictures["retrieval_spaces"], pictures["retrieval"], strict=True):
        strips = (np.concatenate([query[None], near]) for query, near in zip(queries, found, strict=True))
        told = escape(str(name))
        groups = "".join(f'<img alt="neighbours in {told}" src="{figures.strip(images)}">' for images in strips)
        columns = f"display: grid; grid-template-columns: repeat({len(queries)}, 1fr); gap: 1.4rem"
        rows.append(f'<div class="latent"><span>{told}</span><div style="{columns}">{groups}</div></div>')
    return (
        "<h2>Nearest neighbours</h2><p class=note>A row for each feature: some images, each followed by those whose "
        "codes lie nearest to its own in that feature alone. What they share is what the feature is about.</p>"
    ) + "".join(rows)
