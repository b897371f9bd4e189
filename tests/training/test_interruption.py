"""Training that is stopped keeps the best so far, and goes on."""

import dataclasses
from itertools import count

import numpy as np
import pytest

from oddshot import FewShotDetector, InputError, TrainingConfig, meta_train
from oddshot.storage.model_file import from_bytes, to_bytes
from oddshot.training import candidates
from oddshot.training.candidates import SHIPPED
from tests.fleets import SIZES, fleet, labels, numbers

LONG = TrainingConfig(epochs=1000, patience=1000, batch_size=4)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """The forest is by far the slowest candidate."""
    monkeypatch.setattr(candidates, "FOREST", candidates.ClassicalConfig("paper"))


def train(tasks=None, **options):
    settings = {"sizes": SIZES, "training": LONG, "device": "cpu", "progress": False}
    return meta_train(fleet() if tasks is None else tasks, **settings | options)


def after(n):
    """A function that is asked n times before it says that training is to end."""
    asked = count(1)
    return lambda: next(asked) > n


def stopped_eigen(**options):
    return from_bytes(to_bytes(train(method="eigen", units=16, stop=after(2), **options)))


def test_a_stopped_training_keeps_the_best_weights_so_far():
    model = stopped_eigen()
    assert model.training["interrupted"] is True
    assert model.training["epochs"] == 3
    short = train(method="eigen", units=16, training=dataclasses.replace(LONG, epochs=3))
    assert "interrupted" not in short.training
    fitted = [FewShotDetector(one).fit(numbers(9, 10), labels(10)) for one in (model, short)]
    np.testing.assert_array_equal(fitted[0].score_samples(numbers(8)), fitted[1].score_samples(numbers(8)))


def test_training_goes_on_from_the_weights_and_is_no_worse():
    model = stopped_eigen()
    more = train(
        method="eigen", units=16, resume=model, training=TrainingConfig(epochs=2, batch_size=4), stop=lambda: False
    )
    assert "interrupted" not in more.training
    assert more.training["epochs"] == 2
    assert more.training["validation_auc"] >= model.training["validation_auc"]
    assert more.method.config == model.method.config


def test_relative_goes_on_with_the_settings_it_had():
    model = train(method="relative", units=16, stop=after(0))
    more = train(method="relative", units=16, resume=model, training=TrainingConfig(epochs=1))
    assert more.method.config == model.method.config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1}, "the training to resume had another seed"),
        ({"tasks": fleet(n_tasks=7)}, "the training to resume had other tasks or columns"),
        ({"sizes": dataclasses.replace(SIZES, query_normal=4)}, "other numbers of rows in a simulated task"),
        ({"method": "proto"}, "was of method 'eigen', not 'proto'"),
        ({"method": "auto"}, "was of method 'eigen', not 'auto'"),
        ({"method": "eigen", "units": 8}, "had units 16, not 8"),
        ({"members": 2}, "several members cannot be resumed"),
    ],
)
def test_what_does_not_go_on(options, message):
    model = stopped_eigen()
    with pytest.raises(InputError, match=message):
        train(**{"method": "eigen", "resume": model} | options)


def test_a_training_that_came_to_its_end_is_not_resumed():
    short = TrainingConfig(epochs=1)
    with pytest.raises(InputError, match="was not interrupted"):
        train(method="eigen", training=short, resume=train(method="eigen", training=short))


def compare(**options):
    return train(training=TrainingConfig(epochs=3), **options)


@pytest.fixture(scope="module")
def whole():
    """The model of a comparison that was not stopped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "FOREST", candidates.ClassicalConfig("paper"))
        return compare()


@pytest.mark.parametrize("n_asked", [0, 2, 5])
def test_a_stopped_comparison_keeps_the_best_candidate_and_does_the_others_later(whole, monkeypatch, n_asked):
    """Asked before each of four simple methods and two that are trained, and after each epoch."""
    model = compare(stop=after(n_asked))
    assert model.training["interrupted"] is True
    found = model.training["candidates"]
    assert list(found) == list(whole.training["candidates"])[: len(found)]
    assert len(found) == {0: 1, 2: 3, 5: 6}[n_asked]
    assert model.training["chosen"] in found
    assert found.get("eigen", {}).get("interrupted") is (True if n_asked == 5 else None)
    made = []
    untrained = candidates._untrained
    monkeypatch.setattr(candidates, "_untrained", lambda title, *rest: made.append(title) or untrained(title, *rest))
    resumed = compare(resume=from_bytes(to_bytes(model)))
    assert len(made) == {0: 4, 2: 2, 5: 0}[n_asked]
    assert to_bytes(resumed) == to_bytes(whole)


def test_what_an_interrupted_comparison_had_is_not_lost_when_it_is_interrupted_again(monkeypatch):
    first = compare(stop=after(6))
    eigen = first.training["candidates"]["eigen"]
    better = {**first.training["candidates"], "eigen": {**eigen, "auc": 1.0, "lead": 0.9}}
    first = dataclasses.replace(first, training={**first.training, "candidates": better, "chosen": "eigen"})
    again = compare(resume=first, stop=after(1))
    assert again.training["candidates"]["eigen"]["auc"] == 1.0
    assert again.training["chosen"] == "eigen"
    assert again.method is first.method
    assert again.training["interrupted"] is True


def test_the_model_that_ships_stays_the_first_one_after_a_file():
    """A file has the candidates in alphabetical order, and the first one wins where none is clearly better."""
    stopped = compare(stop=after(5))
    behind = {
        title: {**figure, "auc": 0.1, "lead": -0.8} if title != SHIPPED else figure
        for title, figure in stopped.training["candidates"].items()
    }
    changed = dataclasses.replace(stopped, training={**stopped.training, "candidates": behind, "chosen": "eigen"})
    again = compare(resume=from_bytes(to_bytes(changed)), stop=after(0))
    assert next(iter(again.training["candidates"])) == SHIPPED
    assert again.training["chosen"] == SHIPPED


def test_a_candidate_whose_model_is_gone_is_compared_anew(whole):
    """It was behind one that is worse in the end."""
    first = compare(stop=after(5))
    ridge = "ridge regression and nearest normal row"
    lead = {**first.training["candidates"][ridge], "auc": 1.0, "lead": 0.9}
    changed = {**first.training["candidates"], ridge: lead}
    first = dataclasses.replace(first, training={**first.training, "candidates": changed, "chosen": SHIPPED})
    assert to_bytes(compare(resume=first)) == to_bytes(whole)


def test_a_comparison_is_not_resumed_as_one_method():
    model = compare(stop=after(0))
    with pytest.raises(InputError, match="was of method 'auto', not 'eigen'"):
        train(method="eigen", resume=model)
