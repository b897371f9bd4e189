"""The networks of the tests are tiny: several threads would only wait for each other."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
