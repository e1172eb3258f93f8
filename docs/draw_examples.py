"""Draw the pictures of the examples: ``python -m docs.draw_examples``, or with names of some of them."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

ROOT = Path(__file__).parent.parent


def draw(path: Path, folder: Path) -> None:
    """Run an example, and save its picture under the name of the example."""
    import matplotlib.pyplot as plt

    runpy.run_path(str(path), run_name="__main__")
    plt.gcf().savefig(folder / f"{path.stem}.png", dpi=100, metadata={"Software": None})
    plt.close("all")


def main(names: list[str]) -> None:
    """Draw the pictures of the examples with these names, or of all."""
    mpl.use("Agg")
    for path in sorted((ROOT / "examples").rglob("*.py")):
        if not names or path.stem in names:
            draw(path, ROOT / "docs" / "images")


if __name__ == "__main__":
    main(sys.argv[1:])
