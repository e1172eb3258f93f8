"""The default method: Rockafellar's proximal method of multipliers on a manifold, with safeguards.

`method` has the iteration, a list of stages in order. `safeguards` has the stages that help where the plain
method would fail, each with its reason and source. `state` has the settings, and what is passed between
stages.
"""

from .method import proximal_lagrangian

__all__ = ["proximal_lagrangian"]
