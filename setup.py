"""Builds `tensorplay._C` from `csrc/`; everything else about the package is in pyproject.toml."""

from pathlib import Path

import numpy as np
from setuptools import Extension, setup

FLAGS = ["-std=c++17", "-O2", "-g0", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"]
FLAGS += ["-ffp-contract=off", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]

setup(
    ext_modules=[
        Extension(
            "tensorplay._C",
            sources=sorted(str(path) for path in Path("csrc").glob("*.cpp")),
            depends=sorted(str(path) for path in Path("csrc").glob("*.h")),
            include_dirs=[np.get_include()],
            extra_compile_args=FLAGS,
            extra_link_args=["-fno-exceptions"],
            language="c++",
        )
    ]
)
