"""What `import helpers` costs on top of the libraries that it imports: at most 10 per cent.

python tools/bench_import.py
"""

import statistics
import subprocess
import sys

from lessons import ROOT

LIBRARIES = "import torch, matplotlib.pyplot, ipywidgets"
CLOCK = "import time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
RUNS = 7


def seconds(code):
    run = subprocess.run([sys.executable, "-c", CLOCK.format(code)], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return float(run.stdout)


def main():
    for code in (LIBRARIES, f"{LIBRARIES}, helpers"):
        seconds(code)  # the first run reads from disk and compiles
    # Taken in turns, so that whatever else the machine does falls on both.
    pairs = [(seconds(LIBRARIES), seconds(f"{LIBRARIES}, helpers")) for _ in range(RUNS)]
    without, with_helpers = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = with_helpers / without
    print(f"libraries {without:.2f} s, with helpers {with_helpers:.2f} s, ratio {ratio:.3f} (at most 1.100)")
    sys.exit(ratio > 1.1)


if __name__ == "__main__":
    main()
