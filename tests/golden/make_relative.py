"""Makes the golden scores of `relative` (python -m tests.golden.make_relative): never again once a model is trained."""

import json

import torch

from oddshot.data.files import write_bytes
from tests.methods.test_relative import GOLDEN, golden_scores


@torch.no_grad()
def main():
    write_bytes(GOLDEN, (json.dumps(golden_scores(), indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
