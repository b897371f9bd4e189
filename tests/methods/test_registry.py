import subprocess
import sys

import pytest

from oddshot.errors import InputError
from oddshot.methods import find_method, method_names
from oddshot.methods.eigen import Eigen
from oddshot.methods.registry import all_methods

PAPER = "Ours,SVDD,SSVDD,Proto,R2D2,MAML,FT,OSVM,IF,LOF,LR,KNN,RF"  # the columns of Table 1
ABLATIONS = "WoNN,WoProj,WoAnomaly"  # of Table 2


def test_names_are_the_papers_in_its_order_and_the_rest_follows():
    expected = ["eigen", *PAPER.lower().split(",")[1:], *ABLATIONS.lower().split(",")]
    assert method_names()[: len(expected)] == expected
    assert {"relative", "ridge+nearest", "catboost", "xgboost", "deepsad"} <= set(method_names()[len(expected) :])


def test_names_are_found_in_any_case():
    assert find_method("EIGEN") is Eigen


def test_every_method_is_found_by_the_name_it_has():
    assert [method.name for method in all_methods()] == method_names()
    assert len(set(method_names())) == len(method_names())


@pytest.mark.parametrize("name", ["svm", "", "lr,knn"])
def test_unknown_names_are_refused_with_the_known_ones(name):
    with pytest.raises(InputError, match="there are eigen, svdd, ssvdd"):
        find_method(name)


OTHER_LIBRARIES = ("torch", "sklearn", "xgboost", "catboost", "ndonnx")


@pytest.mark.parametrize("work", ["pass", "list(oddshot.methods.registry.all_methods())"])
def test_importing_the_methods_imports_no_other_library(work):
    script = f"import sys, oddshot.methods; {work}; print([m for m in {OTHER_LIBRARIES} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
