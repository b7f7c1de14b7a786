# setup.sh - installs what is missing and builds: the part that ./check and ./demo share. Sourced
# with bash.
#
# Debian and Ubuntu packages come from apt where that is allowed (as root, or through sudo without a
# password); everywhere else the exact command is printed. The CUDA compiler library comes from an
# installed toolkit, or else from PyPI into .venv, which also works without a GPU.

packages="gcc libc6-dev cmake ninja-build flex bison pkg-config"
packages="$packages libisl-dev libgmp-dev libjansson-dev libxxhash-dev libsqlite3-dev"
test_packages="libcmocka-dev python3 python3-pytest g++ clang-format-14 valgrind lowdown"
fuzz_packages="clang libclang-rt-dev"
venv_packages="python3 python3-venv"
ruff_version=0.14.5
mypy_version=2.4.1

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
fail() { printf '%s\n' "$*" >&2; exit 3; }

have_package() { [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

# install PACKAGE...: those that are missing.
install() {
    local missing=() as_root=""
    command -v dpkg-query >/dev/null ||
        fail "This script installs with apt. On another system install the counterparts of: $*"
    for package in "$@"; do have_package "$package" || missing+=("$package"); done
    [ ${#missing[@]} -eq 0 ] && return
    local line="apt-get install -y --no-install-recommends ${missing[*]}"
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null && as_root="sudo -n" ||
            fail "Missing packages. Run this, then try again:  sudo $line"
    fi
    say "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -q >/dev/null ||
        fail "'apt-get update' failed. When it works again, run:  $line"
    $as_root $line >/dev/null || fail "Installing failed. To see why, run:  $line"
}

# The CUDA compiler library (and runtime, for a GPU): from the toolkit, or into .venv from PyPI.
# Never fatal: tirc emits and simulates without it, and what needs it is skipped with a word.
find_cuda() {
    local lib
    for lib in ${TIRC_NVRTC:-} {/usr/local/cuda,${CUDA_HOME:-/nowhere}}/lib64/libnvrtc.so; do
        [ -e "$lib" ] && return
    done
    ldconfig -p 2>/dev/null | grep -q libnvrtc.so && return
    python3 -c 'import nvidia.cu13' 2>/dev/null && return
    if [ ! -d .venv/lib ]; then
        install $venv_packages
        say "Fetching NVRTC from PyPI into .venv"
        python3 -m venv .venv && .venv/bin/pip install -q nvidia-cuda-nvrtc nvidia-cuda-runtime ||
            {
                say "NVRTC could not be fetched: CUDA text is emitted, but not compiled"
                rm -rf .venv
                return
            }
    fi
    export VIRTUAL_ENV="$PWD/.venv"
}

# The formatter of Python and the checker of its types, in a folder of their own: .venv is what the
# tests see.
find_linters() {
    [ "$(.tools/bin/ruff --version 2>/dev/null)" = "ruff $ruff_version" ] &&
        .tools/bin/mypy --version 2>/dev/null | grep -q "^mypy $mypy_version " && return
    install $venv_packages
    say "Fetching ruff and mypy from PyPI into .tools"
    python3 -m venv .tools &&
        .tools/bin/pip install -q "ruff==$ruff_version" "mypy==$mypy_version" ||
        fail "ruff $ruff_version and mypy $mypy_version could not be fetched"
}

# An environment for the Python package and its tests: .tools/python. Never fatal: without it they
# are left out.
find_binding() {
    [ -x .tools/python/bin/pytest ] && return
    (install python3-dev python3-venv) || return 0
    say "Fetching what the Python package and its tests need from PyPI into .tools/python"
    python3 -m venv .tools/python && .tools/python/bin/pip install -q cffi numpy ml_dtypes pytest ||
        { say "They could not be fetched: the Python package is not built"; rm -rf .tools/python; }
}

# A browser for the pictures of the site, and for the tests of the site and of the page that
# --analyze writes. Never fatal: those tests are skipped with a word.
find_browser() {
    command -v chromium >/dev/null || command -v google-chrome >/dev/null && return
    (install chromium) || say "There is no Chromium: pages are not looked at"
}

# Sphinx and what else builds the site, in an environment of their own.
find_site_tools() {
    cmp -s docs/site/requirements.txt .tools/docs/requirements.txt && return
    install $venv_packages
    find_browser
    say "Fetching Sphinx from PyPI into .tools/docs"
    python3 -m venv .tools/docs && .tools/docs/bin/pip install -q -r docs/site/requirements.txt ||
        fail "What docs/site/requirements.txt lists could not be fetched"
    cp docs/site/requirements.txt .tools/docs
}

# The library of the language server, the editor that its test works in, and the generator of
# parsers that tests the grammar for editors. Never fatal: without the library there is no
# `tirc lsp`, and without the others their tests are skipped with a word.
find_editor() {
    (install libjsonrpc-glib-1.0-dev) ||
        say "There is no jsonrpc-glib: the language server (tirc lsp) is not built"
    command -v nvim >/dev/null || (install neovim) ||
        say "There is no Neovim: the language server is not tried in it"
    command -v tree-sitter >/dev/null ||
        { apt-cache show tree-sitter-cli >/dev/null 2>&1 && (install tree-sitter-cli); } ||
        say "There is no tree-sitter command (Debian has it since 13): its grammar is not tried"
}

# build FOLDER OPTION...
build() {
    local folder=$1; shift
    cmake -S . -B "$folder" -G Ninja "$@" >"$folder.log" 2>&1 ||
        { cat "$folder.log"; fail "cmake failed"; }
    cmake --build "$folder" >>"$folder.log" 2>&1 ||
        { tail -n 40 "$folder.log"; fail "the build failed; see $folder.log"; }
    rm -f "$folder.log"
}
