# SPDX-License-Identifier: BSD-3-Clause
"""vampire for Spack: put this folder at packages/vampire of a repository of your own
(`spack repo create`, `spack repo add`), then `spack dev-build vampire@develop` in the source tree.

Not tried with Spack: it is in no package of Debian. Its steps, the Makefile's targets with these
variables, are those of the other packages, and the libraries are those of packaging/packages.
Without lowdown, which Spack does not have, the manual pages of sections 5 and 7 stay the Markdown files they are made of.
"""

from spack.package import *


class Vampire(MakefilePackage):
    """Telemetry of HPC workflows that are coupled by Maestro: time-bucketed histograms in HDF5, a live
    stream of JSON lines, and recordings of events."""

    license("BSD-3-Clause")

    version("develop")

    variant("python", default=True, description="The Python package and vampire-report")

    variant("prometheus", default=True, description="Outputs of type prometheus")
    variant("influx", default=True, description="Outputs of type influx")
    variant("otlp", default=True, description="Outputs of type otlp")
    variant("otf2", default=True, description="Traces in OTF2")
    variant("nats", default=True, description="Outputs of type nats")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("protobuf", type="build")
    depends_on("protobuf-c")
    depends_on("libfabric fabrics=tcp,shm,rxm")
    depends_on("openssl@3:")
    depends_on("munge")
    depends_on("libyaml")
    depends_on("pcre2")
    depends_on("uuid")
    depends_on("hdf5+hl~mpi")
    depends_on("zlib-api")
    depends_on("libdeflate")
    depends_on("jansson")
    depends_on("libmicrohttpd", when="+prometheus")
    depends_on("curl", when="+influx")
    depends_on("curl", when="+otlp")
    depends_on("otf2", when="+otf2")
    depends_on("nats-c", when="+nats")
    with when("+python"):
        depends_on("python@3.11:", type=("build", "run"))
        for name in ("h5py", "matplotlib", "numpy", "pandas", "xarray"):
            depends_on(f"py-{name}", type="run")

    @property
    def without(self):
        return "WITHOUT=" + " ".join(name for name in ("prometheus", "influx", "otlp", "otf2", "nats") if f"+{name}" not in self.spec)

    def build(self, spec, prefix):
        make(f"PREFIX={prefix}", self.without)

    def install(self, spec, prefix):
        make("install", f"PREFIX={prefix}", self.without)

    def setup_run_environment(self, env):
        if "+python" in self.spec:
            env.prepend_path("PYTHONPATH", self.prefix.lib.python3.join("dist-packages"))
