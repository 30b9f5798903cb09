"""Builds the package with setuptools, in a copy of this folder: setuptools leaves what it made where it built."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from setuptools import build_meta

get_requires_for_build_editable = build_meta.get_requires_for_build_editable
build_editable = build_meta.build_editable  # It refers to this folder, so it is made in it.

# Python itself has left this file here in compiled form.
with contextlib.suppress(OSError):
    compiled = Path(importlib.util.cache_from_source(__file__))
    compiled.unlink()
    compiled.parent.rmdir()

SOURCES = ("pyproject.toml", "README.md", "backend.py", "MANIFEST.in", "src")


@contextlib.contextmanager
def in_a_copy() -> Iterator[None]:
    """Goes to a copy of the sources, in which what was a link is not."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="tenure-build-") as folder:
        for name in SOURCES:
            if (here / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(here / name, Path(folder, name), ignore=ignored)
            else:
                shutil.copy(here / name, Path(folder, name))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Returns what building a wheel needs besides."""
    with in_a_copy():
        return build_meta.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """Returns what packing the sources needs besides."""
    with in_a_copy():
        return build_meta.get_requires_for_build_sdist(config_settings)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds a wheel."""
    wheel_directory = os.path.abspath(wheel_directory)
    with in_a_copy():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """Makes what a wheel says of itself."""
    metadata_directory = os.path.abspath(metadata_directory)
    with in_a_copy():
        return build_meta.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Packs the sources."""
    sdist_directory = os.path.abspath(sdist_directory)
    with in_a_copy():
        return build_meta.build_sdist(sdist_directory, config_settings)
