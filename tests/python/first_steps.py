"""The first steps after `pip install`: `import tirc` takes at most 30 ms, the library included,
which loads at its first use, and a matmul is right."""

import subprocess
import sys
from pathlib import Path

import numpy as np

MATMUL = Path(__file__).resolve().parents[2] / "examples" / "matmul" / "matmul.tir"
IMPORT = """
import time
start = time.process_time()
import tirc
imported = time.process_time()
tirc.compile  # loads the library
print((imported - start) * 1e3, (time.process_time() - start) * 1e3)
"""


def main():
    # Of the processor, and the least of several, since other programs disturb them.
    runs = [subprocess.check_output([sys.executable, "-c", IMPORT]).split() for _ in range(15)]
    imported, loaded = (min(float(run[i]) for run in runs) for i in range(2))
    version = sys.version.split()[0]
    print(f"Python {version}: import tirc takes {imported:.1f} ms, {loaded:.1f} with the library")
    assert loaded <= 30
    import tirc

    rng = np.random.default_rng(0)
    a, b = rng.random((45, 37), dtype="f4"), rng.random((37, 83), dtype="f4")
    c = tirc.compile(MATMUL, schedule="tiled32")(a, b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


if __name__ == "__main__":
    main()
