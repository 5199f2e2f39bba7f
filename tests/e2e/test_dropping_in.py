# SPDX-License-Identifier: BSD-3-Clause
"""Programs written against another Maestro, as they are: the calls that multio, selFIe and scripts make, what
they are told when something fails, and by whom. None of them calls mstro_last_error."""

import os
import subprocess
import sys
import textwrap

import pytest

import harness
import results

pytestmark = [pytest.mark.plain, pytest.mark.together]
LIBRARY = harness.BUILD / "lib" / "libmaestro.so.0"

# Component of a pool, or alone, with the names that scripts use.
PRELUDE = f"""
import ctypes, sys
m = ctypes.CDLL({str(LIBRARY)!r})
OK, NOENT, NO_PM = 0, 7, 12
def declare(name):
    cdo = ctypes.c_void_p()
    assert m.mstro_cdo_declare(name.encode(), None, ctypes.byref(cdo)) == OK
    return cdo
def text(cdo, key, value):
    return m.mstro_cdo_attribute_set(cdo, key.encode(), ctypes.byref(ctypes.c_char_p(value.encode())), True, False)
def number(cdo, key, value):
    return m.mstro_cdo_attribute_set(cdo, key.encode(), ctypes.byref(ctypes.c_int64(value)), True, False)
def init(component="caller", workflow="weather"):
    return m.mstro_init(workflow.encode(), component.encode(), ctypes.c_uint64(0))
"""


@pytest.fixture(scope="module", autouse=True)
def the_library():
    subprocess.run(["make", "-C", harness.ROOT, f"MODE={harness.MODE}", "libmaestro"], check=True, capture_output=True)


def run(body, *before, environment=None, arguments=()):
    """Runs the body as a component; its end, its stdout, and what the library said."""
    done = subprocess.run([*before, sys.executable, "-c", PRELUDE + textwrap.dedent(body), *arguments], capture_output=True, text=True,
                          env=harness.clean_environment(environment), timeout=60 * harness.PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


FAILS = """
assert init("IFS -- 0") == OK
cdo = declare("field")
assert m.mstro_cdo_withdraw(cdo) != OK
assert number(cdo, ".maestro.nobody.key", 7) == NOENT
assert m.mstro_cdo_attribute_get(cdo, b".maestro.ecmwf.step", None, None) == NOENT
m.mstro_finalize()
"""


def test_a_failure_is_on_stderr_with_its_reason():
    _, said = run(FAILS)
    assert len(said) == 3, said
    assert all(line.startswith("maestro: IFS -- 0: ") for line in said)
    assert "error: mstro_cdo_withdraw: " in said[0] and "field" in said[0]
    assert 'error: mstro_cdo_attribute_set: no schema has the key ".maestro.nobody.key"' in said[1]
    assert "warning: mstro_finalize: 1 CDOs were not disposed" in said[2]


@pytest.mark.parametrize("setting, lines", [
    ({"MSTRO_LOG_LEVEL": "none"}, 0), ({"MSTRO_LOG_LEVEL": "ERR"}, 2), ({"MSTRO_LOG_LEVEL": "0"}, 2),
    ({"MSTRO_LOG_LEVEL": "warn"}, 3), ({"MSTRO_LOG_LEVEL": "1"}, 3), ({"MSTRO_LOG_LEVEL": "INFO"}, 4),
    ({"MSTRO_LOG_LEVEL": "DEBUG"}, 4), ({"MSTRO_LOG_LEVEL": "4"}, 4), ({"MSTRO_LOG_LEVEL": "shout"}, 4),
    ({"MSTRO_LOG_MODULES": "all,^mamba"}, 3), ({"MSTRO_LOG_MODULES": "^all"}, 0), ({"MSTRO_LOG_MODULES": "^cdo"}, 2),
    ({"MSTRO_LOG_MODULES": "cdo,attr"}, 2), ({"MSTRO_LOG_MODULES": "^all,attr"}, 1), ({"MSTRO_LOG_DST": "stderr"}, 3),
], ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "")
def test_level_and_modules_are_chosen(setting, lines):
    _, said = run(FAILS, environment=setting)
    assert len(said) == lines, said


def test_the_log_of_the_system(tmp_path):
    """The C library's syslog is replaced, as this machine may have none."""
    source = tmp_path / "syslog.c"
    source.write_text('#include <stdarg.h>\n#include <stdio.h>\n'
                      'static void say(int p, const char *f, va_list a) { printf("<%d>", p); vprintf(f, a); puts(""); fflush(stdout); }\n'
                      'void syslog(int p, const char *f, ...) { va_list a; va_start(a, f); say(p, f, a); va_end(a); }\n'
                      'void __syslog_chk(int p, int g, const char *f, ...) { va_list a; va_start(a, f); (void)g; say(p, f, a); va_end(a); }\n')
    library = tmp_path / "syslog.so"
    subprocess.run(["cc", "-w", "-fno-builtin", "-shared", "-fPIC", "-o", library, source], check=True)
    out, said = run(FAILS, environment={"MSTRO_LOG_DST": "syslog", "LD_PRELOAD": str(library)})
    assert said == []
    lines = out.splitlines()
    assert lines[0].startswith("<11>maestro: IFS -- 0: error: mstro_cdo_withdraw: ") and len(lines) == 3
    assert lines[2].startswith("<12>maestro: IFS -- 0: warning: ")


def test_a_loop_of_failures_does_not_fill_a_disk():
    _, said = run("""
        assert init() == OK
        cdo = declare("field")
        for i in range(1000):
            assert number(cdo, f".maestro.nobody.{i}", i) == NOENT
        assert m.mstro_cdo_dispose(cdo) == OK
        m.mstro_finalize()
    """)
    assert len(said) == 101 and said[-1].endswith("900 more messages were left out")


def test_what_is_no_failure_is_not_said(space):
    """Two users in one process, a timeout, an acknowledgement that nobody asked for, handles left over."""
    manager = space.pool_manager()
    _, said = run("""
        assert init() == OK and init("another user") != OK
        subscription, event = ctypes.c_void_p(), ctypes.c_void_p()
        assert m.mstro_subscribe(None, 32, 0, ctypes.byref(subscription)) == OK
        until = (ctypes.c_long * 2)(0, 0)
        m.mstro_subscription_timedwait(subscription, until, ctypes.byref(event))
        assert not event.value
        m.mstro_subscription_ack(subscription, None)
        cdo = declare("READY")
        assert m.mstro_cdo_access_ptr(cdo, None, None) == NOENT
        assert m.mstro_cdo_offer(cdo) == OK and m.mstro_cdo_withdraw(cdo) == OK and m.mstro_cdo_dispose(cdo) == OK
        assert m.mstro_subscription_dispose(subscription) == OK
        assert m.mstro_finalize() == OK and m.mstro_finalize() == OK
    """, environment=space.environment)
    assert said == []
    assert manager.running()


def test_the_end_of_the_pool_manager_is_said_once(space):
    manager = space.pool_manager()
    out, said = run(f"""
        import os, time
        assert init() == OK
        cdo = declare("field")
        os.kill({manager.child.pid}, 9)
        while m.mstro_cdo_offer(cdo) != NO_PM:
            pass
        for i in range(100):
            assert m.mstro_cdo_offer(cdo) == NO_PM
        assert m.mstro_cdo_dispose(cdo) == OK
        m.mstro_finalize()
    """, environment=space.environment)
    gone = [line for line in said if "the pool manager is gone: " in line]
    assert len(gone) == 1 and "error" in gone[0], said
    manager.wait()


SCHEMA = """schema-name: multio
schema-version: 2.1
schema-author: somebody else
schema-namespace: .maestro.my.
maestro-attributes:
  - {key: known, type: int(), required: True}
  - {key: also, type: str()}
  - {key: odd, type: "regex('^x')"}
"""


def test_a_schema_of_another_maestro(tmp_path):
    """Warns, and keeps the rest; what is required is missed at the declaration, once; unknown keys are
    dropped whatever their type."""
    (tmp_path / "multio.yaml").write_text(SCHEMA)
    _, said = run("""
        assert init() == OK
        for i in range(3):
            cdo = declare(f"field {i}")
            assert text(cdo, ".maestro.my.also", "x") == OK
            assert text(cdo, ".maestro.my.odd", "x") == OK and number(cdo, ".maestro.nobody.key", 7) == OK
            assert m.mstro_cdo_attribute_get(cdo, b".maestro.my.odd", None, None) == NOENT
            assert m.mstro_cdo_offer(cdo) == OK and m.mstro_cdo_withdraw(cdo) == OK
            sink = declare(f"other {i}")
            assert m.mstro_cdo_require(sink) == OK and m.mstro_cdo_retract(sink) == OK
            assert m.mstro_cdo_dispose(sink) == OK and m.mstro_cdo_dispose(cdo) == OK
        whole = declare("whole")
        assert number(whole, ".maestro.my.known", 7) == OK and m.mstro_cdo_seal(whole) == OK
        assert m.mstro_cdo_dispose(whole) == OK
        m.mstro_finalize()
    """, environment={"MSTRO_SCHEMA_LIST": "multio", "MSTRO_SCHEMA_PATH": str(tmp_path),
                      "MSTRO_DROP_UNKNOWN_ATTRIBUTES": "1"})
    assert len(said) == 3 and all("warning: schema" in line for line in said), said
    assert "multio.yaml:3" in said[0] and "schema-author" in said[0]
    assert "multio.yaml:8" in said[1] and "regex" in said[1]
    assert '"field 0" is declared without ".maestro.my.known"' in said[2]


INTERPOSER = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <maestro/maestro.h>
static unsigned offers, demands, waits;
mstro_status mstro_cdo_offer(mstro_cdo cdo) { offers++; return ((mstro_status(*)(mstro_cdo))dlsym(RTLD_NEXT, "mstro_cdo_offer"))(cdo); }
mstro_status mstro_cdo_demand(mstro_cdo cdo) { demands++; return ((mstro_status(*)(mstro_cdo))dlsym(RTLD_NEXT, "mstro_cdo_demand"))(cdo); }
mstro_status mstro_finalize(void) { fprintf(stderr, "counted %u %u\\n", offers, demands); return ((mstro_status(*)(void))dlsym(RTLD_NEXT, "mstro_finalize"))(); }
"""


def test_a_library_in_between_counts_what_the_component_does(space):
    """As CEA's selFIe: calls interposed with LD_PRELOAD, here of a component that calls as multio does."""
    between, caller, source = space.path / "between.so", space.path / "caller", space.path / "between.c"
    source.write_text(INTERPOSER)
    include = space.path / "include"
    include.mkdir()
    (include / "maestro").symlink_to(harness.ROOT / "maestro")
    subprocess.run(["cc", "-w", "-shared", "-fPIC", f"-I{include}", "-o", between, source], check=True)
    subprocess.run(["c++", f"-I{include}", "-o", caller, harness.ROOT / "tests/e2e/cxx_caller.cpp", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"],
                   check=True)
    space.pool_manager()
    vampire = space.vampire(harness.vampire_config(source={"leave_when_empty": True}))
    process = space.start([caller], "caller", {"LD_PRELOAD": str(between)})
    process.expect_exit(0)
    vampire.expect_exit(0)
    assert "counted 1 2\n" in process.stderr
    counted = results.JsonRun(space.json_lines()).counters["pool_operations"]
    counts = {operation: sum(count for labels, count in counted.items() if operation in labels) for operation in ("offer", "demand")}
    assert counts == {"offer": 1, "demand": 2}


JOIN = """
import time
begin = time.monotonic()
print(init(workflow=sys.argv[1]), time.monotonic() - begin)
"""


def wrong_join(info, *before, workflow="weather", **environment):
    out, said = run(JOIN, *before, arguments=[workflow], environment={"MSTRO_POOL_MANAGER_INFO": info, "MSTRO_JOIN_TIMEOUT_MS": "2000", **environment})
    status, seconds = out.split()
    assert status != "0" and len(said) == 1 and "error: mstro_init: " in said[0], said
    return said[0], float(seconds)


def test_each_wrong_join_has_its_own_sentence(space):
    manager = space.pool_manager()
    info = space.environment["MSTRO_POOL_MANAGER_INFO"]
    sentences = [
        wrong_join("CAESC3RjcDtvZmlfcnhtGhACAK5H")[0],
        wrong_join("embedded-maestro-1:CAESC3RjcDtvZmlfcnht")[0],
        wrong_join(info[:-8])[0],
        wrong_join(info, workflow="other")[0],
    ]
    assert "not written by an embedded Maestro" in sentences[0] and "with the same Maestro" in sentences[0]
    assert "from another release" in sentences[1] and "damaged" in sentences[2]
    assert 'serves the workflow "weather", not "other"' in sentences[3]
    manager.stop()
    ended, seconds = wrong_join(info)
    assert "no pool manager answers at 127.0.0.1:" in ended and "is it still running" in ended and seconds >= 2


@pytest.mark.parametrize("policy, words", [("MaxProtocol = TLSv1.2", "MaxProtocol"),
                                           ("CipherString = DEFAULT@SECLEVEL=5", "SECLEVEL=5")])
def test_a_policy_of_openssl_that_excludes_the_protocol(space, policy, words):
    """It is no wrong key, neither for a component nor for the pool manager."""
    path = space.path / "openssl.cnf"
    path.write_text("openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n" + policy + "\n")
    space.pool_manager()
    said = wrong_join(space.info, OPENSSL_CONF=str(path))[0]
    assert words in said and "OpenSSL configuration" in said and "key" not in said, said
    manager = subprocess.run([harness.program("maestro-pool-manager"), "--workflow", "weather", "--info-file", str(space.path / "other")],
                             capture_output=True, text=True, env=os.environ | {"OPENSSL_CONF": str(path)}, timeout=60, check=False)
    assert manager.returncode != 0 and words in manager.stderr, manager.stderr


def test_an_info_of_loopback_elsewhere_is_said_at_once(space):
    """Another name space of the network is as another host: its loopback is its own."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        pytest.skip("no name spaces of the network here")
    space.pool_manager()
    info = space.environment["MSTRO_POOL_MANAGER_INFO"]
    for bring_up in ("true", "ip link set lo up"):
        said, seconds = wrong_join(info, "unshare", "-n", "sh", "-c", f'{bring_up}; exec "$@"', "sh",
                                   MSTRO_JOIN_TIMEOUT_MS="60000")
        assert "an address of loopback, and runs on another host" in said and "--bind ADDRESS" in said
        assert seconds < 30


@pytest.mark.skipif(subprocess.run(["sh", "-c", "command -v ip"], capture_output=True).returncode != 0, reason="no iproute2")
def test_an_address_that_is_not_reached(space):
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        pytest.skip("no name spaces of the network here")
    address = subprocess.run("ip -4 -o addr show scope global | awk '{sub(\"/.*\", \"\", $4); print $4; exit}'", shell=True,
                             capture_output=True, text=True, check=True).stdout.strip()
    if not address:
        pytest.skip("this host has no address but loopback")
    space.pool_manager("--bind", address)
    said, _ = wrong_join(space.environment["MSTRO_POOL_MANAGER_INFO"], "unshare", "-n")
    assert f"answers at {address}:" in said and "does this host reach that address" in said
