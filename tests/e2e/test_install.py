# SPDX-License-Identifier: BSD-3-Clause
"""What is installed can be used: by C++ programs, and by a vampire that is built against it as it
would be against upstream's Maestro."""

import os
import pathlib
import re
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


def make(*arguments, seconds=280, environment=None):
    result = subprocess.run(
        ["make", "-C", harness.ROOT, *arguments], capture_output=True, text=True,
        timeout=seconds, check=False,
        env={**plain_environment(), **(environment or {})},
    )
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


def pkg_config(prefix, *arguments, libraries="lib"):
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / libraries / "pkgconfig"))
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
    for name in ("bin/vampire", "bin/maestro-pool-manager", "include/maestro.h", "include/maestro/maestro.h",
                 "lib/vampire/maestro.so", "lib/vampire/prometheus.so", "lib/vampire/influx.so", "lib/vampire/otlp.so",
                 "lib/vampire/otf2.so", "lib/vampire/nats.so", "lib/pkgconfig/maestro.pc", "share/vampire/config/demo.json",
                 "share/vampire/vampire-telemetry.proto", "share/vampire/inlets/lustre_job_stats.py"):
        assert f"opt/vampire/{name}" in files, sorted(files)
    assert any(name.startswith("opt/vampire/lib/libmaestro.so") for name in files)
    text = (root / "opt/vampire/lib/pkgconfig/maestro.pc").read_text()
    assert "/opt/vampire" in text and str(root) not in text
    versions = {subprocess.run([root / "opt/vampire/bin" / name, "--version"], capture_output=True, text=True,
                               check=True).stdout.splitlines()[0].replace(name, "")
                for name in ("vampire", "vampire-report")}
    assert len(versions) == 1, versions
    done = subprocess.run([root / "opt/vampire/bin/vampire", "--summary", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "open nothing: No such file" in done.stderr, "the package next to it is used"


LOOK = "import vampire, xarray; print(vampire.__file__, 'vampire' in xarray.backends.list_engines())"


def python(*arguments, **environment):
    return subprocess.run(arguments, capture_output=True, text=True, check=True, cwd="/",
                          env={**plain_environment(), **environment}).stdout


def test_the_system_s_python_finds_the_package(space):
    """With PREFIX=/usr/local, where DESTDIR stands for the root: what Python looks through is read from there."""
    root = space.path / "root"
    printed = make("install", "PREFIX=/usr/local", f"DESTDIR={root}")
    folder = python("/usr/bin/python3", "-c", "import site; print(site.getsitepackages()[0])").strip()
    assert folder.startswith("/usr/local/lib/python3")
    found = python("/usr/bin/python3", "-c",  # and from there only, should a vampire be installed here
                   "import site, sys; sys.path = [folder for folder in sys.path if not folder.startswith('/usr/local/')];"
                   f"site.addsitedir('{root}{folder}'); {LOOK}")
    assert found == f"{root}/usr/local/lib/python3/dist-packages/vampire/__init__.py True\n"
    assert "PYTHONPATH" not in printed
    make("uninstall", "PREFIX=/usr/local", f"DESTDIR={root}")
    assert [path for path in root.rglob("*") if not path.is_dir()] == []


def test_the_python_of_an_environment_finds_the_package(space):
    prefix = space.path / "environment"
    python("/usr/bin/python3", "-m", "venv", "--without-pip", "--system-site-packages", prefix)
    printed = make("install", f"PREFIX={prefix}", f"PYTHON={prefix}/bin/python3")
    assert python(prefix / "bin" / "python3", "-c", LOOK) == f"{prefix}/lib/python3/dist-packages/vampire/__init__.py True\n"
    assert "PYTHONPATH" not in printed


def test_elsewhere_the_line_to_set_is_printed(space):
    prefix = space.path / "elsewhere"
    printed = make("install", f"PREFIX={prefix}")
    assert "no manual pages" not in printed
    (line,) = re.findall(r"export (PYTHONPATH)=(\S+)", printed)
    found = python("/usr/bin/python3", "-c", LOOK, **dict([line]))
    assert found == f"{prefix}/lib/python3/dist-packages/vampire/__init__.py True\n"


def test_manual_pages_that_cannot_be_made_are_named(space):
    """Without lowdown."""
    tools = space.path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for path in os.scandir(folder):
            if path.name != "lowdown" and not os.path.lexists(tools / path.name):
                (tools / path.name).symlink_to(path.path)
    printed = make("install", f"PREFIX={space.path / 'prefix'}", environment={"PATH": str(tools)})
    assert "sh tests/install_packages.sh lowdown" in printed and "sections 5 and 7" in printed
    pages = {path.suffix for path in (space.path / "prefix" / "share" / "man").rglob("vampire*.*")}
    assert pages == {".1"}


C_WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion", "-Wsign-conversion",
              "-Wundef", "-Wcast-qual", "-Wwrite-strings", "-Wstrict-prototypes", "-Wmissing-prototypes"]
CXX_WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion", "-Wsign-conversion",
                "-Wundef", "-Wcast-qual", "-Wold-style-cast"]
CALLERS = {
    "c_caller.c": (("gcc", "clang-14"), C_WARNINGS, ("c99", "c11", "c17", "c2x", "gnu17")),
    "cxx_caller.cpp": (("g++", "clang++-14"), CXX_WARNINGS,
                       ("c++98", "c++03", "c++11", "c++14", "c++17", "c++20", "gnu++17")),
}
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(callers C CXX)
# As multio's FindMAESTRO does.
find_path(MAESTRO_INCLUDE_DIR maestro/maestro.h PATHS ${MAESTRO_ROOT} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(MAESTRO_LIBRARY maestro PATHS ${MAESTRO_ROOT} PATH_SUFFIXES lib NO_DEFAULT_PATH)
foreach(caller c_caller.c cxx_caller.cpp)
  get_filename_component(name ${caller} NAME_WE)
  add_executable(${name} ${SOURCES}/${caller})
  target_include_directories(${name} PRIVATE ${MAESTRO_INCLUDE_DIR})
  target_link_libraries(${name} ${MAESTRO_LIBRARY})
endforeach()
"""


CMAKE_PACKAGE = """cmake_minimum_required(VERSION 3.16)
project(callers C)
find_package(maestro REQUIRED)
add_executable(c_caller ${SOURCES}/c_caller.c)
target_link_libraries(c_caller maestro::maestro)
"""


def expect_ok(space, program, **environment):
    caller = space.start([program], program.name, environment)
    caller.expect_exit(0)
    lines = caller.stdout.splitlines()
    assert lines[-1] == "ok"
    assert ".maestro.ecmwf.step = 24 (int)" in lines, lines


@pytest.mark.parametrize("source", CALLERS)
def test_a_caller_at_every_language_level(installed, source):
    """Compiled plainly, with what pkg-config says, without a warning; and run."""
    space, prefix = installed
    compilers, warnings, levels = CALLERS[source]
    for compiler in filter(shutil.which, compilers):
        for level in levels:
            program = space.path / f"{source.split('.')[0]}-{compiler}-{level}"
            subprocess.run(
                [compiler, f"-std={level}", *warnings, harness.ROOT / "tests" / "e2e" / source, "-o", program,
                 *pkg_config(prefix, "--cflags", "--libs"), f"-Wl,-rpath,{prefix}/lib"],
                check=True,
            )
            expect_ok(space, program)


@pytest.mark.parametrize("header", ["maestro.h", "maestro/maestro.h"])
def test_both_names_of_the_header(installed, header):
    """With the folder alone: no pkg-config."""
    space, prefix = installed
    source = space.path / "both.c"
    source.write_text(f"#include <{header}>\n#include <maestro.h>\nint main(void) {{ return mstro_finalize() == MSTRO_OK; }}\n")
    program = space.path / "both"
    subprocess.run(["cc", "-std=c99", "-Wall", "-Werror", source, "-o", program, f"-I{prefix}/include",
                    f"-L{prefix}/lib", "-lmaestro", f"-Wl,-rpath,{prefix}/lib"], check=True)
    space.start([program], "both").expect_exit(0)


def test_callers_built_with_cmake(installed):
    """find_path below MAESTRO_ROOT; what no schema has is dropped and read back, with a pool manager."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    space, prefix = installed
    folder = space.path / "cmake"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CMAKE)
    environment = plain_environment()
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", f"-DMAESTRO_ROOT={prefix}",
                    f"-DSOURCES={harness.ROOT}/tests/e2e"], check=True, capture_output=True, env=environment)
    subprocess.run(["cmake", "--build", folder / "build"], check=True, capture_output=True, env=environment)
    expect_ok(space, folder / "build" / "c_caller")
    space.pool_manager()
    expect_ok(space, folder / "build" / "cxx_caller", MSTRO_DROP_UNKNOWN_ATTRIBUTES="1")


def test_a_caller_built_with_the_package_of_cmake(space):
    """find_package, with the library in a folder for the machine, as Debian has it."""
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    prefix, folder = space.path / "prefix", space.path / "cmake"
    make("install", f"PREFIX={prefix}", "LIBDIR=lib/machine")
    assert f"{prefix}/lib/machine" in pkg_config(prefix, "--variable=libdir", libraries="lib/machine")
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(CMAKE_PACKAGE)
    environment = plain_environment()
    subprocess.run(["cmake", "-S", folder, "-B", folder / "build", f"-DSOURCES={harness.ROOT}/tests/e2e",
                    f"-Dmaestro_DIR={prefix}/lib/machine/cmake/maestro"], check=True, capture_output=True, env=environment)
    subprocess.run(["cmake", "--build", folder / "build"], check=True, capture_output=True, env=environment)
    expect_ok(space, folder / "build" / "c_caller")


def test_only_the_public_names_are_exported(installed):
    _, prefix = installed
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", prefix / "lib" / "libmaestro.so"],
        capture_output=True, text=True, check=True,
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in listing.splitlines() if " A " not in line}
    assert "mstro_init" in names
    declared = (harness.ROOT / "maestro" / "maestro.h").read_text()
    assert not {name for name in names if f" {name}(" not in declared and f"*{name}(" not in declared}


def test_vampire_built_against_an_installed_maestro(installed):
    """MAESTRO_PREFIX, as for upstream's library. Not optimised, which takes half the time."""
    space, prefix = installed
    build = space.path / "build"
    make("-j2", f"MAESTRO_PREFIX={prefix}", f"B={build}", "MODE=debug", "all")
    program, live = (subprocess.run(["ldd", build / name], capture_output=True, text=True, check=True).stdout
                     for name in ("bin/vampire", "lib/vampire/maestro.so"))
    assert f"{prefix}/lib/libmaestro.so" in live
    assert not re.search("libmaestro|libfabric", program)
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


def test_make_on_a_bare_machine_says_nothing_of_pkg_config(tmp_path):
    """Before `make demo` has installed it."""
    for program in pathlib.Path("/usr/bin").iterdir():
        if "pkg-config" not in program.name and "pkgconf" not in program.name:
            (tmp_path / program.name).symlink_to(program)
    done = subprocess.run(["make", "-n", "help"], cwd=harness.ROOT, env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 0 and "not found" not in done.stderr, done.stderr
