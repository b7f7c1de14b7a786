"""The Debian package: its contents, the command and the library from an unpacked one, and what the
shared library exports. It is built in the folder $TIRC_PACKAGE_BUILD."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = ROOT / "tests" / "install" / "consumer.c"
DEVELOP = ["tirc.h", "libtirc.a", "tirc.pc", "tircConfig.cmake", "tircConfigVersion.cmake"]
CONFIGURE = ["-DBUILD_SHARED_LIBS=ON", "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_BUILD_TYPE=Release"]
CONFIGURE += ["-DBUILD_TESTING=OFF", "-DTIRC_PYTHON_PACKAGE=OFF", "-DTIRC_WERROR=ON"]


def run(*command, **options):
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def version():
    return re.search(r"project\(tirc VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


@pytest.fixture(scope="module")
def package():
    build = Path(os.environ["TIRC_PACKAGE_BUILD"])
    run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *CONFIGURE)
    run("cmake", "--build", build)
    for old in build.glob("*.deb"):
        old.unlink()
    run("cpack", cwd=build)
    (deb,) = build.glob("*.deb")
    return deb


@pytest.fixture(scope="module")
def root(package, tmp_path_factory):
    """A system that consists of the package alone."""
    folder = tmp_path_factory.mktemp("root")
    database = folder / "var" / "lib" / "dpkg"
    (database / "info").mkdir(parents=True)
    (database / "updates").mkdir()
    (database / "status").touch()
    # Scripts of the package ask for ldconfig, which the folder does not have.
    force = ["--force-depends", "--force-script-chrootless", "--force-not-root", "--force-bad-path"]
    run("dpkg", f"--root={folder}", *force, "-i", package)
    assert "Status: install ok" in run("dpkg-query", f"--admindir={database}", "-s", "tirc")
    return folder / "usr"


@pytest.fixture(scope="module")
def library(root):
    (folder,) = {path.parent for path in (root / "lib").rglob("libtirc.so*")}
    return folder


def control(package, field):
    return run("dpkg-deb", "-f", package, field).strip()


def test_what_is_inside(package, library):
    files = {line.split()[5] for line in run("dpkg-deb", "-c", package).splitlines()}
    names = {path.rsplit("/", 1)[1] for path in files if not path.endswith("/")}
    soname = f"libtirc.so.{version().rsplit('.', 1)[0]}"
    libraries = {"libtirc.so", soname, f"libtirc.so.{version()}"}
    assert "tirc.1" in names or not shutil.which("lowdown")
    names -= {"tirc-lsp", "tirc.1"}  # built where a library and lowdown are
    assert names == {"tirc", "copyright", *DEVELOP, *libraries}
    assert all(path.startswith("./usr/") for path in files)
    assert re.search(rf"SONAME\s+{soname}$", run("objdump", "-p", library / soname), re.M)
    assert (library / "libtirc.so").resolve().name == f"libtirc.so.{version()}"


def test_what_the_package_says(package):
    assert control(package, "Package") == "tirc" and control(package, "Version") == version()
    needed = {word.split()[0] for word in control(package, "Depends").split(", ")}
    assert {"libc6", "libisl23", "libjansson4", "libxxhash0", "libsqlite3-0"} <= needed
    if shutil.which("apt-get"):
        plan = run("apt-get", "install", "--simulate", package)
        assert re.search(r"^Inst tirc ", plan, re.M), plan


def test_the_command_runs(root):
    matmul = ROOT / "examples" / "matmul" / "matmul.tir"
    sizes = ["-D", "M=8", "-D", "N=8", "-D", "K=8"]
    command = [root / "bin" / "tirc", matmul, "--schedule", "naive", "--device", "sim", *sizes]
    assert "64 of 64 elements checked" in run(*command, "--verify")


def test_programs_find_the_library_beside_them(root):
    programs = list((root / "bin").iterdir())
    assert programs
    for program in programs:
        assert "not found" not in run("ldd", program), program


def flags(library, *options):
    environment = os.environ | {"PKG_CONFIG_PATH": str(library / "pkgconfig")}
    return run("pkg-config", "--cflags", "--libs", *options, "tirc", env=environment).split()


def test_a_program_links_the_shared_library(library, tmp_path):
    program = tmp_path / "consumer"
    run("cc", CONSUMER, "-o", program, *flags(library))
    needed = run("objdump", "-p", program)
    assert "libtirc.so" in needed and "libisl" not in needed
    assert "0 elements are wrong" in run(program, env={"LD_LIBRARY_PATH": str(library)})


def test_a_program_links_the_archive(library, tmp_path):
    program = tmp_path / "consumer"
    run("cc", "-static", CONSUMER, "-o", program, *flags(library, "--static"))
    assert "NEEDED" not in run("objdump", "-p", program)
    assert "0 elements are wrong" in run(program, env={})


def test_exported_symbols_are_those_of_the_header(root, library):
    header = re.sub(r"/\*.*?\*/", "", (root / "include" / "tirc.h").read_text(), flags=re.S)
    declared = set(re.findall(r"\b(tirc_\w+)\(", header))
    lines = run("nm", "-D", "--defined-only", library / "libtirc.so").splitlines()
    found = {line.split()[2].split("@@")[0] for line in lines if line.split()[1] != "A"}
    assert len(declared) > 60 and found == declared
