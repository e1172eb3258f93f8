"""The default method: Rockafellar's proximal method of multipliers on a manifold, with safeguards.

`method` is the iteration, a list of stages in their order. `safeguards` has the stages that help where the
plain method would fail, each with its reason and its source. `state` has the settings, and what passes from
stage to stage.
"""

from .method import proximal_lagrangian

__all__ = ["proximal_lagrangian"]
