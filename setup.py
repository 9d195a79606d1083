"""Builds `tensorplay._C` from `csrc/`; everything else about the package is in pyproject.toml."""

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

FLAGS = ["-std=c++17", "-O2", "-g0", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden"]
FLAGS += ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
FLAGS += ["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Wno-psabi"]

# What elementary functions were built from; a test compares it with the headers that kernels include.
HEADERS = sorted(Path("tensorplay/include").glob("*.h"))
DIGEST = sha256(b"".join(path.read_bytes() for path in HEADERS)).hexdigest()

# Files with instructions that not every machine has; they are called where the machine has them. The flags are those
# of generated kernels (tensorplay/compiler/backends/stax/cpp_builder.py).
AVX2 = ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512cd"]
FLAGS_OF_FILE = {
    # Loops for the vectorizer.
    "convolve.cpp": ["-O3"],
    "elementwise.cpp": ["-O3"],
    "merge.cpp": ["-O3"],
    "elementwise_avx2.cpp": AVX2,
    "elementwise_avx512.cpp": [*AVX512, "-mprefer-vector-width=512"],
}


class BuildForMachines(build_ext):
    """`build_ext` that gives some files instruction sets of their own, and compiles files side by side."""

    def build_extension(self, ext: Extension) -> None:
        """Compile every file, then link."""

        def compile_file(source: str) -> list[str]:
            own = FLAGS_OF_FILE.get(Path(source).name, []) if is_x86 else []
            return self.compiler.compile(
                [source],
                output_dir=self.build_temp,
                macros=ext.define_macros,
                include_dirs=ext.include_dirs,
                extra_postargs=[*ext.extra_compile_args, *own],
            )

        is_x86 = platform.machine().lower() in {"x86_64", "amd64"}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for objects in pool.map(compile_file, ext.sources):
                ext.extra_objects += objects
        ext.depends += ext.sources  # what decides whether to link again
        ext.sources = []
        super().build_extension(ext)


setup(
    cmdclass={"build_ext": BuildForMachines},
    ext_modules=[
        Extension(
            "tensorplay._C",
            sources=sorted(str(path) for path in Path("csrc").glob("*.cpp")),
            depends=[str(path) for path in (*sorted(Path("csrc").glob("*.h")), *HEADERS)],
            define_macros=[("TP_HEADERS_DIGEST", f'"{DIGEST}"')],
            include_dirs=[np.get_include(), "tensorplay/include"],
            extra_compile_args=FLAGS,
            language="c++",
        )
    ],
)
