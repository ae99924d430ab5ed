"""Studies: many runs from one Python file, on one machine or on a cluster, and their scores as one table."""

from unbraid.study.evaluation import Evaluation
from unbraid.study.plan import Study, chain, product, zipped

__all__ = ["Evaluation", "Study", "chain", "product", "zipped"]
