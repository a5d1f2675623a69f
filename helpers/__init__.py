"""The small package that the lessons lean on.

Importing it settles three things for the whole kernel:

* `torch.set_num_threads(1)`. The matrices here are tiny, and the threads of many kernels on one machine wait for each
  other: a class of thirty would spend its time on that. One thread also removes a source of differing last digits.
* Tensors print with four decimals and never in scientific notation, as in the text of the lessons.
* A letter that matplotlib's font lacks is taken from a Chinese, Japanese or Korean font where one is installed.
"""

import sys

try:
    import ipywidgets  # noqa: F401
    import matplotlib  # noqa: F401
    import torch
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"This notebook runs on {sys.executable}, which has no {error.name}. Choose the kernel of the environment that "
        "the README's first command makes (menu Kernel > Change Kernel), or install what is missing with\n"
        f"    {sys.executable} -m pip install -r requirements.txt\nand restart the kernel.",
        name=error.name,
    ) from None

torch.set_num_threads(1)
torch.set_printoptions(precision=4, sci_mode=False)

from .environment import check_environment  # noqa: E402
from .explore import explore  # noqa: E402
from .film import film  # noqa: E402
from .heatmap import heatmap  # noqa: E402
from .sentence import INPUTS, TOKENS  # noqa: E402

__all__ = ["INPUTS", "TOKENS", "check_environment", "explore", "film", "heatmap"]
