"""Print a command of the README as it stands there, so that it is the README's own command that is tested.

    python .ci/readme.py "<!-- test -->" bash

prints the first block of that language after the line that begins so.
"""

import re
import sys
from pathlib import Path


def block(start, language):
    """The block's lines. Raises ValueError where the README has none."""
    readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(start)}.*?^```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"README.md has no block of {language} after a line that begins with {start!r}")
    return found[1]


if __name__ == "__main__":
    print(block(*sys.argv[1:]), end="")
