"""Which processor the benchmarks ran on, as far as it matters for their figures."""

import platform
from pathlib import Path

RELEVANT_FLAGS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")
BF16_FLAGS = {"avx512_bf16", "amx_bf16"}
CPU_INFO = Path("/proc/cpuinfo")  # of Linux; elsewhere only the name of the processor is known


def processor_model() -> str:
    """The processor's name."""
    return _cpu_info().get("model name") or platform.processor() or platform.machine()


def processor_flags() -> list[str]:
    """Those of the relevant instruction sets that it has."""
    flags = _cpu_info().get("flags", "").split()
    return [flag for flag in RELEVANT_FLAGS if flag in flags]


def has_bf16() -> bool:
    """Whether it multiplies bf16 matrices by instructions of its own."""
    return not BF16_FLAGS.isdisjoint(processor_flags())


def describe_machine() -> str:
    """Name and instruction sets in one line."""
    return f"{processor_model()} ({', '.join(processor_flags()) or 'instruction sets unknown'})"


def _cpu_info() -> dict[str, str]:
    """The fields of the first core."""
    if not CPU_INFO.exists():
        return {}
    pairs = (line.partition(":") for line in CPU_INFO.read_text().split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}
