"""Writes the C source of the extension module tirc._native: all of tirc.h, by cffi.

python build_binding.py tirc.h OUTPUT.c
"""

import re
import sys
from pathlib import Path

import cffi

# An array that another library exports by the DLPack protocol: its capsule must stay alive while
# the array is in use. cffi calls without the GIL, which the capsule needs.
DLPACK = """
typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
} tirc_dlpack;
bool tirc_dlpack_read(uintptr_t capsule, tirc_dlpack *out);
"""
DLPACK_SOURCE = r"""
#include <stdbool.h>
#include "tirc.h"

/* The memory layout of DLTensor, dlpack.h. */
typedef struct {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
} tirc_dlpack;

/* False: it is no capsule with an array that nobody has taken. */
static bool tirc_dlpack_read(uintptr_t capsule, tirc_dlpack *out)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *object = (PyObject *)capsule;
    bool good = PyCapsule_IsValid(object, "dltensor");
    const DLTensor *t = good ? PyCapsule_GetPointer(object, "dltensor") : NULL;
    PyGILState_Release(state);
    if (!t)
        return false;
    *out = (tirc_dlpack){(char *)t->data + t->byte_offset, t->device.type, t->device.id, t->ndim,
                         t->dtype.code, t->dtype.bits, t->dtype.lanes, t->shape, t->strides};
    return true;
}
"""


def declarations(header: str) -> str:
    """What the header declares, without preprocessor lines and the braces of extern "C"."""
    header = re.sub(r"#ifdef __cplusplus.*?#endif", "", header, flags=re.S)
    return re.sub(r"^#.*$", "", header, flags=re.M)


def main() -> None:
    header, output = Path(sys.argv[1]), sys.argv[2]
    ffi = cffi.FFI()
    ffi.cdef(declarations(header.read_text()) + DLPACK)
    ffi.set_source("tirc._native", DLPACK_SOURCE, py_limited_api=True)
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main()
