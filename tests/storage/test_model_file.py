import dataclasses
import hashlib
import json
import os
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

import oddshot
from oddshot import FewShotDetector, InputError, load_model
from oddshot.data.encoding import Encoding
from oddshot.decisions.features import N_FEATURES
from oddshot.errors import CapacityError, FileError, ModelFileError
from oddshot.methods.ensemble import Ensemble
from oddshot.storage.model_file import Model, from_bytes, to_bytes
from oddshot.universal.shipped import load_universal
from tests.fleets import SIZES, fleet, labels, mixed, numbers, small_model, train_small_model
from tests.methods.samples import build

GOLDEN = Path(__file__).parents[1] / "golden"
MODEL, SCORES = GOLDEN / "format1.safetensors", GOLDEN / "format1.json"

METHODS = ["eigen", "woanomaly", "wonn"]
NAN, INFINITY = float("nan"), float("inf")
OTHER_VERSION = "is not as 'eigen' has it in this version of oddshot; train it again, or use the version that wrote it"


def scores(model, X=None):
    X = mixed(9) if X is None else X
    return FewShotDetector(model).fit(X[:10], labels()[:10]).score_samples(X)


def parts(data):
    """The file taken apart by hand: header and tensors' bytes."""
    end = 8 + int.from_bytes(data[:8], "little")
    return json.loads(data[8:end]), data[end:]


def signed(header, tensors=b"", digest="0" * 64):
    """A file with this header and, by hand, the digest that belongs to it."""
    header = {**header, "__metadata__": {**header["__metadata__"], "sha256": digest}}
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + tensors
    return data if digest != "0" * 64 else signed(header, tensors, hashlib.sha256(data).hexdigest())


def forged(model=None, tensors=None, **changes):
    """A model's file with other contents and a digest that is right; None takes a field away."""
    header, data = parts(to_bytes(model or small_model()))
    ours = json.loads(header["__metadata__"]["oddshot"]) | changes
    ours = {name: value for name, value in ours.items() if value is not None or name not in changes}
    if tensors is not None:
        header, data = parts(safetensors.numpy.save(tensors))
    return signed(header | {"__metadata__": {"oddshot": json.dumps(ours)}}, data)


def refusal(data):
    with pytest.raises(ModelFileError) as caught:
        from_bytes(data)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_comes_back_as_it_was(method, tmp_path):
    model = small_model(method, mixed)
    model.save(tmp_path / "model.safetensors")
    back = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(scores(back), scores(model))
    assert (back.encoding, back.threshold, back.training) == (model.encoding, model.threshold, model.training)
    assert back.calibration.to_dict() == model.calibration.to_dict()
    assert back.method.config == model.method.config
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_a_method_without_weights_comes_back(tmp_path):
    model = small_model("lr")
    np.testing.assert_array_equal(scores(from_bytes(to_bytes(model)), numbers(9)), scores(model, numbers(9)))


def test_the_same_model_gives_the_same_bytes():
    assert len({to_bytes(small_model()) for _ in range(20)}) == 1  # safetensors alone would shuffle the metadata


def test_it_is_a_safetensors_file_with_plain_json_and_no_pickle(tmp_path, monkeypatch):
    model = small_model("eigen", mixed)
    model.save(tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", "np") as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        header = json.loads(file.metadata()["oddshot"])
    for name, value in model.method.weights.items():
        np.testing.assert_array_equal(stored.pop(name), value[None])  # of one replica
    assert not stored
    assert header["encoding"]["columns"] == list(mixed(0).columns)
    for unpickler in ("pickle.load", "pickle.loads", "pickle.Unpickler", "numpy.load"):
        monkeypatch.delattr(unpickler)
    load_model(tmp_path / "model.safetensors")


def test_the_digest_is_the_sha256_of_the_file_with_zeros_in_its_place():
    data = to_bytes(small_model())
    digest = parts(data)[0]["__metadata__"]["sha256"]
    assert hashlib.sha256(data.replace(digest.encode(), b"0" * 64)).hexdigest() == digest


def test_a_column_named_like_the_digest_does_no_harm():
    X = {"0" * 64: numbers(0)[:, 0], '"' + "0" * 64 + '"': numbers(0)[:, 1]}
    model = Model(build("wonn", M=2, dtype=np.float32), Encoding.fit([X]), 0.5)
    assert from_bytes(to_bytes(model)).encoding == model.encoding


def test_every_flipped_bit_is_refused():
    data = bytearray(to_bytes(small_model()))
    end = 8 + int.from_bytes(data[:8], "little")
    positions = [*range(end), *range(end, len(data), (len(data) - end) // 300)]
    bits = np.random.default_rng(0).integers(0, 8, len(positions))
    for position, bit in zip(positions, bits.tolist(), strict=True):
        data[position] ^= 1 << bit
        refusal(bytes(data))
        data[position] ^= 1 << bit
    from_bytes(bytes(data))


def test_padding_and_what_follows_the_tensors_is_covered():
    data = to_bytes(small_model())
    assert "not an oddshot model file" in refusal(data.replace(b'"dtype"', b'"dtype', 1))
    assert "damaged" in refusal(data + b"\0")
    header = parts(data)[0]
    padded = json.dumps(header).encode() + b" " * 16
    assert "damaged" in refusal(len(padded).to_bytes(8, "little") + padded + parts(data)[1])


def test_every_truncation_is_refused():
    data = to_bytes(small_model())
    for length in [*range(0, 64), *np.linspace(64, len(data) - 1, 200).astype(int)]:
        refusal(data[:length])


def test_foreign_files_are_refused():
    tensors = safetensors.numpy.save({"weight": np.ones(3)})
    other = safetensors.numpy.save({"weight": np.ones(3)}, metadata={"format": "np"})
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
    for data in (
        b"",
        b"a,b\n1,2\n" * 50,
        png,
        tensors,
        other,
        b"\xff" * 8,
        b"\xff" * 7 + b"\x0f" + b"{}" * 8,
        bytes(64),
    ):
        assert refusal(data).startswith("not an oddshot model file")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"__metadata__": {"oddshot": "' + "[" * 100_000 + '", "sha256": ""}}',
        '{"__metadata__": {"oddshot": "' + r"{\"a\":" * 50_000 + '", "sha256": ""}}',
        '{"__metadata__": []}',
        '{"__metadata__": {"oddshot": 1, "sha256": 2}}',
        '{"__metadata__": {"oddshot": "[]", "sha256": "' + "0" * 64 + '"}}',
        '{"__metadata__": {"oddshot": "{}"}}',
        '{"__metadata__": {"oddshot": "{}", "sha256": "zz"}}',
        '{"a": ' + "1" * 5000 + "}",
        "\udcff",
        "null",
        "",
    ],
)
def test_hostile_headers_are_refused(text):
    header = text.encode(errors="surrogateescape")
    assert refusal(len(header).to_bytes(8, "little") + header).startswith("not an oddshot model file")


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_any_bytes_are_refused_in_one_line(header, rest):
    refusal(header + rest)
    refusal(len(header).to_bytes(8, "little") + header + rest)


def test_a_newer_format_says_so():
    assert refusal(forged(format=4)) == "model of format 4, written by a newer oddshot; this one reads up to 3"
    header, _ = parts(to_bytes(small_model()))
    header["__metadata__"] = {"oddshot": json.dumps({"format": 4, "layout": "unknown"}), "sha256": "0" * 64}
    assert "format 4, written by a newer oddshot" in refusal(signed(header))


def config(**changes):
    return vars(small_model().method.config) | changes


def broken_calibration(part="shape", **changes):
    """A model's calibration with other numbers in one of its networks; with the part None, others beside them."""
    stored = small_model().calibration.to_dict()
    return stored | (changes if part is None else {part: stored[part] | changes})


def broken_encoding(**changes):
    return small_model().encoding.to_dict() | changes


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"method": "magic"}, "no method 'magic'"),
        ({"method": 5}, "method is '5'"),
        ({"method": None}, "'method' is missing"),
        ({"config": config(units=10**9)}, OTHER_VERSION),
        ({"config": config(units=10**30)}, ""),
        ({"config": config(units=-1)}, "units is -1"),
        ({"config": config(units="16")}, ""),
        ({"config": config(units=16.5)}, ""),
        ({"config": config(layers_phi=10**9)}, "layers_phi is 1000000000"),
        ({"config": config(layers_f=2)}, OTHER_VERSION),
        ({"config": config(colour="red")}, "colour"),
        ({"config": config(dropout=NAN)}, "dropout is nan"),
        ({"config": config(eta=None)}, ""),
        ({"config": []}, "config is '[]'"),
        ({"config": None}, "'config' is missing"),
        ({"n_attributes": 10**9}, OTHER_VERSION),
        ({"n_attributes": -7}, ""),
        ({"n_attributes": 1e400}, "n_attributes is 'inf'"),
        ({"replicas": 2, "scales": [1.0, 1.0]}, OTHER_VERSION),
        ({"replicas": 10**9}, "replicas is 1000000000"),
        ({"replicas": 0}, ""),
        ({"threshold": NAN}, "the threshold is nan"),
        ({"threshold": INFINITY}, "the threshold is inf"),
        ({"threshold": "0.5"}, "threshold is '0.5'"),
        ({"training": ["fast"]}, "training is"),
        ({"encoding": {}}, "encoding: expected columns"),
        ({"encoding": broken_encoding(columns=["x0", "x1"])}, "encoding: its columns"),
        ({"encoding": broken_encoding(encoders=[[[]]])}, "encoding:"),
        ({"encoding": small_model("wonn", mixed).encoding.to_dict()}, "attributes"),
        ({"calibration": 5}, "calibration is '5'"),
        ({"calibration": {"shape": 5, "odds": 5}}, "calibration is"),
        ({"calibration": {"shape": {}}}, "is missing"),
        ({"calibration": broken_calibration(None, scale=0.0)}, "scale"),
        ({"calibration": broken_calibration(None, scale=NAN)}, "scale"),
        ({"calibration": broken_calibration(b=[0.0] * 9)}, "numbers of another shape"),
        ({"calibration": broken_calibration("odds", W=[[]])}, "numbers of another shape"),
        ({"calibration": broken_calibration(c=[INFINITY] * 16)}, "expected finite numbers"),
        ({"calibration": broken_calibration("odds", mean=None)}, ""),
        ({"format": 0}, "format is 0"),
        ({"format": None}, "format is None"),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(changes, expected):
    assert expected in refusal(forged(**changes))


@pytest.mark.parametrize(
    ("scales", "expected"),
    [
        (None, "'scales' is missing"),
        ([1.0], "as many scales"),
        ([1.0, NAN], "scales is"),
        ([1.0, -1.0], "above 0"),
        (5, "scales is '5'"),
    ],
)
def test_scales_that_do_not_fit_the_members_are_refused(scales, expected):
    one = small_model()
    both = dataclasses.replace(one, method=Ensemble([one.method, one.method], [1.0, 2.0]))
    assert from_bytes(forged(both)).method.scales == (1.0, 2.0)
    assert expected in refusal(forged(both, scales=scales))


@contextmanager
def limit(resource_type, value):
    before = resource.getrlimit(resource_type)
    resource.setrlimit(resource_type, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource_type, before)


def test_claimed_sizes_take_no_memory():
    """A quarter of a gigabyte is enough to refuse a file that speaks of units for exabytes."""
    wrong = ({"config": config(units=10**9)}, {"config": config(layers_g=10**9)}, {"replicas": 10**12})
    files = [forged(**changes) for changes in (*wrong, {"n_attributes": 10**12})]
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    with limit(resource.RLIMIT_AS, in_use + 2**28):
        for file in files:
            assert "the model file does not fit together" in refusal(file)


def test_a_file_with_familiarity_is_read_and_saved_without_it():
    """What models of earlier versions said of tasks; the model that ships was written by one."""
    case = {"mean": [0.0, 1.0], "spread": [1.0, 2.0], "quantiles": [float(k) for k in range(1, 10)], "excess": 0.5}
    model = small_model()
    back = from_bytes(forged(familiarity={"anomalies": case, "normal only": case}))
    np.testing.assert_array_equal(scores(back, numbers(9)), scores(model, numbers(9)))
    assert back.calibration.to_dict() == model.calibration.to_dict()
    assert to_bytes(back) == to_bytes(model)


def tampered(model, part, **changes):
    """A model's file with other numbers in its configuration, its calibration or a network of that."""
    header, data = parts(to_bytes(model))
    stored = json.loads(header["__metadata__"]["oddshot"])
    {"config": stored["config"], "calibration": stored["calibration"], **stored["calibration"]}[part].update(changes)
    return signed(header | {"__metadata__": {"oddshot": json.dumps(stored)}}, data)


@pytest.mark.parametrize(
    ("make", "part", "changes"),
    [
        (load_universal, "config", {"forest_weight": 1e308}),
        (load_universal, "odds", {"b": [1e308, 1e308, 1e308], "W": [[-1e308] * 3] * N_FEATURES}),
        (small_model, "calibration", {"scale": 1e308}),
    ],
)
def test_numbers_that_give_no_finite_scores_are_refused(make, part, changes):
    assert from_bytes(tampered(make(), part)).n_weights == make().n_weights
    assert refusal(tampered(make(), part, **changes)).endswith("it gives scores or thresholds that are not finite")


@pytest.mark.parametrize("make", [load_universal, small_model])
def test_weights_that_give_no_finite_scores_are_refused(make):
    model = make()
    tensors = {name: value[None] for name, value in model.method.weights.items()}
    assert from_bytes(forged(model, tensors)).n_weights == model.n_weights
    tensors["log_eta"] = np.full_like(tensors["log_eta"], 1e4)  # η = exp(10⁴) is infinite
    assert refusal(forged(model, tensors)).endswith("it gives scores or thresholds that are not finite")


def test_tensors_that_do_not_fit_are_refused():
    tensors = {name: value[None] for name, value in small_model().method.weights.items()}
    name, value = "phi.weights.0", tensors["phi.weights.0"]
    assert f"{name} {OTHER_VERSION}" in refusal(forged(tensors={key: tensors[key] for key in tensors if key != name}))
    assert "phi.weights.9" in refusal(forged(tensors={**tensors, "phi.weights.9": value.copy()}))
    assert f"{name} {OTHER_VERSION}" in refusal(forged(tensors={**tensors, name: value[:, :, 1:].copy()}))
    assert "float16" in refusal(forged(tensors={**tensors, name: value.astype(np.float16)}))
    assert "int64" in refusal(forged(tensors={**tensors, name: value.astype(np.int64)}))
    value = value.copy()
    value[0, 0, 0] = NAN
    assert "NaN" in refusal(forged(tensors={**tensors, name: value}))
    value = np.full_like(value, 3e38)
    assert f"{name} holds numbers beyond ±1e+18" in refusal(forged(tensors={**tensors, name: value}))


def test_a_model_whose_parts_disagree_cannot_be_made():
    model = small_model()
    with pytest.raises(InputError, match="takes 3 attributes, the encoding gives 13"):
        Model(model.method, small_model("wonn", mixed).encoding, 0.5)
    with pytest.raises(InputError, match="threshold is nan"):
        Model(model.method, model.encoding, NAN)


def test_paths_that_cannot_be_read_are_one_line(tmp_path):
    for path in (tmp_path / "nowhere.safetensors", tmp_path, tmp_path / "nowhere" / "model"):
        with pytest.raises(FileError, match=r"cannot be read \([A-Z].*\)$") as caught:
            load_model(path)
        assert str(caught.value).startswith(f"{path}: ")
    (tmp_path / "text.safetensors").write_text("hello")
    with pytest.raises(ModelFileError, match=r"text\.safetensors: not an oddshot model file"):
        load_model(str(tmp_path / "text.safetensors"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_without_permission_is_one_line(tmp_path):
    small_model().save(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").chmod(0)
    with pytest.raises(FileError, match=r"cannot be read \(Permission denied\)"):
        load_model(tmp_path / "model.safetensors")


def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.safetensors"
    small_model("wonn").save(path)
    with limit(resource.RLIMIT_FSIZE, 2048), pytest.raises(CapacityError) as caught:
        small_model().save(path)
    assert str(caught.value) == f"cannot write {path}: File too large"
    assert path.read_bytes() == to_bytes(small_model("wonn"))
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_a_kill_while_saving_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.safetensors"
    small_model("wonn").save(path)
    child = os.fork()
    if child == 0:
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # all is written, nothing is renamed yet
        small_model().save(path)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    assert path.read_bytes() == to_bytes(small_model("wonn"))
    small_model().save(path)  # sweeps what the kill left
    assert os.listdir(tmp_path) == ["model.safetensors"]
    assert load_model(path).method.name == "eigen"


def test_a_trained_model_holds_numpy_numbers_in_float32(tmp_path):
    pytest.importorskip("torch")
    for made in (train_small_model("relative"), train_small_model("wonn")):
        made.save(tmp_path / "model.safetensors")
        for model in (made, load_model(tmp_path / "model.safetensors")):
            assert {type(value) for value in model.method.weights.values()} == {np.ndarray}
            assert {value.dtype for value in model.method.weights.values()} == {np.dtype(np.float32)}
            assert all(value.shape == specified(model)[name] for name, value in model.method.weights.items())


def specified(model):
    method = model.method
    return {name: weight.shape for name, weight in method.weights_of(method.n_attributes, method.config).items()}


def test_a_model_trained_on_cuda_is_used_without_it(tmp_path):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    settings = {"sizes": SIZES, "training": oddshot.TrainingConfig(epochs=8), "device": "cuda", "units": 16}
    model = oddshot.meta_train(fleet(mixed), method="relative", **settings)
    model.save(tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(scores(loaded), scores(model))


def test_the_golden_file_of_format_1_gives_its_scores():
    expected = json.loads(SCORES.read_text())
    detector = FewShotDetector(load_model(MODEL)).fit(expected["support"], expected["labels"])
    # The square of a small float32 projection has the absolute error of the large ones: another machine rounds it so.
    tiny = 1e-7 * max(expected["scores"])
    np.testing.assert_allclose(detector.score_samples(expected["rows"]), expected["scores"], rtol=1e-5, atol=tiny)
    assert detector.threshold_ == pytest.approx(expected["threshold"], rel=1e-5)
    assert detector.predict(expected["rows"]).tolist() == expected["predictions"]
    assert not hasattr(detector, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        detector.predict_proba(expected["rows"])
    assert str(caught.value.__cause__) == "predict_proba needs a calibration, and the model has none; train it again"
    with pytest.raises(InputError, match="false_positive_rate needs a calibration, and the model has none"):
        FewShotDetector(detector.model, 0.05).fit(expected["support"], expected["labels"])
    assert set(detector.encoding_.kinds.values()) == {"number", "category", "boolean", "date"}
    assert MODEL.stat().st_size < 50_000
