import subprocess
import sys

import pytest

from oddshot.errors import InputError
from oddshot.methods import METHODS, find_method
from oddshot.methods.eigen import Eigen

PAPER = "Ours,SVDD,SSVDD,Proto,R2D2,MAML,FT,OSVM,IF,LOF,LR,KNN,RF"  # the columns of Table 1
ABLATIONS = "WoNN,WoProj,WoAnomaly"  # of Table 2


def test_names_are_the_papers_in_its_order_and_the_rest_follows():
    expected = ["eigen", *PAPER.lower().split(",")[1:], *ABLATIONS.lower().split(",")]
    assert list(METHODS)[: len(expected)] == expected
    assert {"relative", "ridge+nearest", "catboost", "xgboost", "deepsad"} <= set(list(METHODS)[len(expected) :])


def test_names_are_found_in_any_case():
    assert find_method("EIGEN") is Eigen


@pytest.mark.parametrize("name", ["svm", "", "lr,knn"])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(InputError, match="there are eigen, svdd, ssvdd"):
        find_method(name)


def test_importing_the_methods_imports_no_other_library():
    script = "import sys, oddshot.methods; print([m for m in ('sklearn', 'xgboost', 'catboost') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
