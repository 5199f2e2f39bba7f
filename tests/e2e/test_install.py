# SPDX-License-Identifier: BSD-3-Clause
"""What is installed can be used: by C++ programs, and by a vampire that is built against it as it
would be against upstream's Maestro."""

import os
import shutil
import subprocess

import pytest

import harness
import results
from test_workflow import model_options

pytestmark = pytest.mark.plain


def plain_environment():
    """Not the variables of the make that runs the tests."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "MODE"))}


def make(*arguments, seconds=140):
    result = subprocess.run(
        ["make", "-C", harness.ROOT, *arguments], capture_output=True, text=True,
        timeout=seconds, check=False,
        env=plain_environment(),
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]


def pkg_config(prefix, *arguments):
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib" / "pkgconfig"))
    result = subprocess.run(["pkg-config", *arguments, "maestro"], capture_output=True, text=True,
                            check=True, env=environment)
    return result.stdout.split()


@pytest.fixture
def installed(space):
    prefix = space.path / "prefix"
    make("install", f"PREFIX={prefix}")
    return space, prefix


def test_everything_is_installed_below_destdir(space):
    root = space.path / "root"
    make("install", "PREFIX=/opt/vampire", f"DESTDIR={root}")
    files = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
    for name in ("bin/vampire", "bin/maestro-pool-manager", "include/maestro.h",
                 "lib/pkgconfig/maestro.pc", "share/vampire/config/demo.json"):
        assert f"opt/vampire/{name}" in files, sorted(files)
    assert any(name.startswith("opt/vampire/lib/libmaestro.so") for name in files)
    text = (root / "opt/vampire/lib/pkgconfig/maestro.pc").read_text()
    assert "/opt/vampire" in text and str(root) not in text
    versions = {subprocess.run([root / "opt/vampire/bin" / name, "--version"], capture_output=True, text=True,
                               check=True).stdout.splitlines()[0].replace(name, "")
                for name in ("vampire", "vampire-report")}
    assert len(versions) == 1, versions


@pytest.mark.parametrize("compiler", ["g++", "clang++-14"])
def test_a_cpp_caller(installed, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    space, prefix = installed
    program = space.path / "cxx_caller"
    source = harness.ROOT / "tests" / "e2e" / "cxx_caller.cpp"
    flags = pkg_config(prefix, "--cflags", "--libs")
    subprocess.run(
        [compiler, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source,
         "-o", program, *flags, f"-Wl,-rpath,{prefix}/lib"],
        check=True,
    )
    caller = space.start([program], "cxx_caller")
    caller.expect_exit(0)
    assert caller.stdout == "ok\n"


def test_only_the_public_names_are_exported(installed):
    _, prefix = installed
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", prefix / "lib" / "libmaestro.so"],
        capture_output=True, text=True, check=True,
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if " A " not in line}
    assert "mstro_init" in names
    assert not {name for name in names if not name.startswith("mstro_")}


def test_vampire_built_against_an_installed_maestro(installed):
    """MAESTRO_PREFIX, as for upstream's library."""
    space, prefix = installed
    build = space.path / "build"
    make("-j2", f"MAESTRO_PREFIX={prefix}", f"B={build}", "all")
    needed = subprocess.run(["ldd", build / "bin" / "vampire"], capture_output=True, text=True,
                            check=True).stdout
    assert f"{prefix}/lib/libmaestro.so" in needed
    manager = space.pool_manager()
    own = harness.BUILD
    harness.BUILD = build
    try:
        vampire = space.vampire(harness.vampire_config())
        reports = harness.Workflow(
            space, model_options=model_options(3, 2, 2, 4096, 65536, 0)
        ).finish()
        vampire.expect_exit(0)
    finally:
        harness.BUILD = own
    runs = {"hdf5": results.Hdf5Run(space.hdf5_files()), "json": results.JsonRun(space.json_lines())}
    assert not results.compare(reports, runs)
    assert manager.running()
