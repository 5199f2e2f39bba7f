# SPDX-License-Identifier: BSD-3-Clause
"""The source archive and the Debian packages."""

import filecmp
import os
import re
import shutil
import subprocess

import pytest

import harness
from test_install import make, plain_environment

pytestmark = pytest.mark.plain


def run(*arguments, **options):
    return subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120, **options).stdout


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def unpacked(space):
    """What is in an archive of this checkout."""
    if not (harness.ROOT / ".git").exists():
        pytest.skip("this is no git checkout: an archive is made of a commit")
    make("dist", f"DIST={space.path}/one")
    make("dist", f"DIST={space.path}/two")
    (name,) = names(space.path / "one")
    assert filecmp.cmp(space.path / "one" / name, space.path / "two" / name, shallow=False)
    run("tar", "xzf", space.path / "one" / name, "-C", space.path)
    return space.path / name.removesuffix(".tar.gz")


def test_an_archive_is_a_source_tree(unpacked):
    version = run("sh", unpacked / "packaging" / "version.sh").strip()
    assert unpacked.name == f"vampire-{version}"
    release = (harness.ROOT / "VERSION").read_text().strip()
    assert re.match(r"[0-9]+\.[0-9]+\.[0-9]+$", release)
    assert re.match(re.escape(release) + r"(\+[0-9a-z.]+)?$", version)
    run("make", "-C", unpacked, "build/release/obj/vampire/core/clock.o", env=plain_environment())
    assert f'"{version}"' in (unpacked / "build/gen/version.h").read_text()
    done = subprocess.run(["make", "-C", unpacked, "dist"], capture_output=True, text=True, check=False,
                          env=plain_environment())
    assert done.returncode != 0 and "git checkout" in done.stderr


def test_the_changelog_has_the_release_number():
    headings = re.findall(r"^## ([0-9.]+) - ", (harness.ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == (harness.ROOT / "VERSION").read_text().strip()


def test_a_build_between_releases_is_newer_than_the_release(space):
    """The version of commits, of changes, of a tag, and of a tree without git."""
    tree = space.path / "tree"
    (tree / "packaging").mkdir(parents=True)
    shutil.copy(harness.ROOT / "packaging" / "version.sh", tree / "packaging")

    def git(*arguments):
        return run("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments, cwd=tree).strip()

    def version():
        return run("sh", tree / "packaging" / "version.sh").strip()

    (tree / "VERSION").write_text("1.2.3\n")
    (tree / "notes").write_text("")
    assert version() == "1.2.3"
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "release")
    first = git("rev-parse", "--short", "HEAD")
    assert version() == f"1.2.3+0.{first}"
    git("tag", "v1.2.3")
    assert version() == "1.2.3"
    (tree / "notes").write_text("changed\n")
    assert version() == "1.2.3+dirty"
    git("checkout", "-q", "notes")
    git("commit", "-q", "--allow-empty", "-m", "later")
    second = git("rev-parse", "--short", "HEAD")
    assert version() == f"1.2.3+1.{second}"
    (tree / "notes").write_text("changed\n")
    assert version() == f"1.2.3+1.{second}.dirty"
    if shutil.which("dpkg") is None:
        return
    for older, newer in (("0~20261122.120000.4eec618", "1.2.3"), ("1.2.3", f"1.2.3+0.{first}"),
                         (f"1.2.3+0.{first}", f"1.2.3+1.{second}"), ("1.2.3+9.aaaaaaa", "1.2.3+10.0000000"),
                         (f"1.2.3+1.{second}", "1.2.4")):
        run("dpkg", "--compare-versions", older, "lt", newer)


@pytest.mark.long
def test_an_archive_passes_its_tests(unpacked):
    run("sh", unpacked / "tests" / "lint.sh", "structure")
    done = subprocess.run(["make", "-C", unpacked, "-j2", "check", "CHECK_OPTIONS=--repeat-failed"],
                          capture_output=True, text=True, check=False, env=plain_environment())
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def contents(package):
    """The files of a package with their kind, as far as an installation has them, too."""
    found = set()
    for line in run("dpkg-deb", "-c", package).splitlines():
        kind, owner, path = line.split()[0], line.split()[1], line.split()[5].removeprefix("./")
        assert owner == "root/root", line
        if not kind.startswith("d") and not re.search(r"usr/share/doc/.*/(copyright(\.hdf5\.gz)?|changelog(\.Debian)?\.gz)$|usr/share/lintian/", path):
            found.add(re.sub(r"(/share/man/.*)\.gz$", r"\1", path))
    return found


def fields(package):
    text = run("dpkg-deb", "-f", package)
    return dict(re.findall(r"^([A-Z][A-Za-z-]*): *(.*)$", text, re.MULTILINE))


def listed(group):
    """Packages of a group of packaging/packages."""
    text = (harness.ROOT / "packaging" / "packages").read_text()
    return set(re.findall(rf"^{group} +([^ \n]+)", text, re.MULTILINE))


def test_debian_builds_with_the_packages_that_are_installed():
    """Build-Depends and packaging/packages agree."""
    control = (harness.ROOT / "packaging" / "debian" / "control").read_text()
    (text,) = re.findall(r"^Build-Depends: (.*?)^\S", control, re.MULTILINE | re.DOTALL)
    needed = {word.split()[0] for word in text.split(",")}
    assert needed - {"debhelper-compat", "dh-sequence-python3", "python3"} == (listed("build") | listed("more")) - {"gcc", "git", "libc6-dev", "make"}
    assert {"debhelper", "dh-python", "lintian"} <= listed("test")


def test_what_is_missing_is_named_with_the_line_that_installs_it(space):
    """A plug-in by its message (writers/plug_in.c), and what each target of make installs before it begins."""
    table = re.findall(r'\{"(\w+)", "([\w-]+)"\}', (harness.ROOT / "writers" / "plug_in.c").read_text(encoding="utf-8"))
    libraries = re.findall(r"^more +(\S+) .*# (writers/.*?):", (harness.ROOT / "packaging" / "packages").read_text(), re.MULTILINE)
    assert set(table) == {(name, package) for package, names in libraries for name in re.findall(r"writers/(\w+)", names)}

    tools = space.path / "tools"
    tools.mkdir()
    for name, text in {"dpkg-query": "exit 1", "id": "echo 1000", "sudo": 'echo "$@"; exit 1'}.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    done = subprocess.run(["make", "-C", harness.ROOT, "deb"], capture_output=True, text=True, check=False,
                          env={**plain_environment(), "PATH": f"{tools}:{os.environ['PATH']}"})
    asked = done.stdout.partition("install_packages.sh ")[2].partition("\n")[0].split()
    assert set(asked) == {"build", "more", "build-essential", "debhelper", "dh-python", "python3"}, done.stdout + done.stderr


def stem(name):
    """What the names of a library have in common: libnats-dev is Spack's nats-c, libssl-dev its openssl."""
    return re.sub(r"^(lib|open)|((1g|4-openssl|-trace|-c)?-dev|-api|-c)$", "", name)


def test_spack_builds_with_the_libraries_that_are_installed():
    recipe = (harness.ROOT / "packaging" / "spack" / "package.py").read_text()
    needed = {stem(name) for name in re.findall(r'^    depends_on\("([^" @+]+)', recipe, re.MULTILINE)}
    libraries = {stem(name) for name in listed("build") | listed("more") if name.endswith("-dev")}
    assert needed - {"c", "gmake", "pkgconfig"} == libraries - {"c6"}


def packed_and_installed(space, packages):
    """All that `make install` installs is in exactly one of the packages."""
    machine = run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    tree = space.path / "tree"
    make("install", "PREFIX=/usr", f"LIBDIR=lib/{machine}", f"DESTDIR={tree}")
    installed = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_symlink() or path.is_file()}
    packed = [name for package in packages for name in contents(package)]
    assert len(packed) == len(set(packed)), "two packages have the same file"
    packed = {re.sub(r"^lib/systemd/", "usr/lib/systemd/", name) for name in packed}
    assert packed | {"usr/share/doc/vampire/LICENSE"} == installed
    return machine


def test_debian_packages(space):
    """All that is installed is in one of them, and it runs. Not optimised, which takes half the time."""
    if shutil.which("dh") is None or shutil.which("lintian") is None:
        pytest.skip("debhelper or lintian is not installed")
    out = space.path / "out"
    make("deb", f"DIST={out}", seconds=570, environment={"DEB_BUILD_OPTIONS": "noopt"})
    packages = {path.name.split("_")[0]: path for path in out.iterdir()}
    symbols = {name: packages.pop(name) for name in ("vampire-dbgsym", "libmaestro0-dbgsym", "vampire-prometheus-dbgsym",
                                                   "vampire-influx-dbgsym", "vampire-otlp-dbgsym", "vampire-otf2-dbgsym",
                                                   "vampire-nats-dbgsym")}
    assert set(packages) == {"vampire", "vampire-prometheus", "vampire-influx", "vampire-otlp", "vampire-otf2",
                             "vampire-nats", "vampire-top", "python3-vampire", "libmaestro0", "libmaestro-dev"}
    machine = packed_and_installed(space, packages.values())
    assert run("lintian", "--allow-root", "--fail-on", "error,warning", *packages.values()) == ""

    assert re.search(r"libc6.*libsz2", fields(packages["vampire"])["Depends"])
    assert "libfabric" not in fields(packages["vampire"])["Depends"], "who moves payloads loads it"
    assert fields(packages["libmaestro0"])["Recommends"] == "libfabric1"
    assert "libhdf5" not in fields(packages["vampire"])["Depends"], "it would load libcurl and 29 others"
    for name in ("vampire", "vampire-nats"):
        assert fields(packages[name])["Built-Using"].startswith("hdf5 (= ")
    assert "microhttpd" not in fields(packages["vampire"])["Depends"], "a site without Prometheus needs no library for it"
    assert "libmicrohttpd12" in fields(packages["vampire-prometheus"])["Depends"]
    assert "libmaestro0 (= " in fields(packages["libmaestro-dev"])["Depends"]
    assert re.search(r"python3-h5py.*python3-xarray", fields(packages["python3-vampire"])["Depends"])
    assert "systemctl --system daemon-reload" in run("dpkg-deb", "-I", packages["vampire"], "postinst")
    scripts = "".join(run("dpkg-deb", "-I", packages["vampire"], name) for name in ("postinst", "prerm"))
    assert not re.search(r"(start|restart) '?vampire", scripts), "only the operator starts it"

    root = space.path / "root"
    for package in [*packages.values(), *symbols.values()]:
        run("dpkg-deb", "-x", package, root)
        run("md5sum", "--strict", "-c", "-", cwd=root, input=run("dpkg-deb", "-I", package, "md5sums"))
    version = run("sh", harness.ROOT / "packaging" / "version.sh").strip()
    for program in ("vampire", "vampire-collect", "vampire-top", "maestro-pool-manager"):
        assert version in run(root / "usr/bin" / program, "--version")
    assert fields(packages["vampire-top"])["Depends"] == "python3:any (>= 3.9)"
    alone = space.path / "login node"
    run("dpkg-deb", "-x", packages["vampire-top"], alone)
    assert "usage: vampire-top" in run("/usr/bin/python3", "-S", alone / "usr/bin/vampire-top", "--help")
    assert (root / f"usr/lib/{machine}/libmaestro.so").resolve().name == "libmaestro.so.0"
    for program in ("usr/bin/vampire", "usr/lib/vampire/maestro.so", f"usr/lib/{machine}/libmaestro.so.0"):
        build_id = re.search("Build ID: ([0-9a-f]+)", run("readelf", "-n", root / program)).group(1)
        assert (root / f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug").exists()
    assert "FILES" in run(root / "usr/bin/vampire-report", "--help")
    engines = "import xarray, vampire; print('vampire' in xarray.backends.list_engines(), vampire.__file__)"
    found = run("/usr/bin/python3", "-c", engines, env={"PYTHONPATH": str(root / "usr/lib/python3/dist-packages")})
    assert found == f"True {root}/usr/lib/python3/dist-packages/vampire/__init__.py\n"
    run(root / "usr/bin/vampire", "--check-config", root / "usr/share/vampire/config/demo.json")


def test_what_was_installed_can_be_removed(space):
    root = space.path / "root"
    kept = root / "usr/bin/other"
    make("install", "PREFIX=/usr", f"DESTDIR={root}")
    kept.write_text("")
    make("uninstall", "PREFIX=/usr", f"DESTDIR={root}")
    assert [path for path in root.rglob("*") if not path.is_dir()] == [kept]
    assert not (root / "usr/share/vampire").exists()
