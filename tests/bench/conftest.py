import pytest

from tests.bench.samples import restored_registries


@pytest.fixture(autouse=True)
def _registries():
    with restored_registries():
        yield
