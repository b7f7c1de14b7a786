/* arrays.c - Reads arrays of other Python libraries, by DLPack. */
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "tirc.h"

#include "arrays.h"

/* The memory layout of the structs of dlpack.h, version 1. */
typedef struct {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;

struct tirc_exchange {
    struct {
        uint32_t major, minor;
    } version;
    void *prev_api;
    void (*managed_tensor_allocator)(void);
    void (*managed_tensor_from_py_object_no_sync)(void);
    void (*managed_tensor_to_py_object_no_sync)(void);
    int (*dltensor_from_py_object_no_sync)(void *py_object, DLTensor *out);
    void (*current_work_stream)(void);
};
enum { DLPACK_MAJOR = 1 };
_Static_assert(sizeof(void *) == sizeof(uint64_t), "an address is a uint64_t");

bool tirc_dlpack_read(uintptr_t capsule, tirc_dlpack *out)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *object = (PyObject *)capsule;
    bool good = PyCapsule_IsValid(object, "dltensor");
    const DLTensor *t = good ? PyCapsule_GetPointer(object, "dltensor") : NULL;
    PyGILState_Release(state);
    if (!t)
        return false;
    *out = (tirc_dlpack){(char *)t->data + t->byte_offset,
                         t->device.type,
                         t->device.id,
                         t->ndim,
                         t->dtype.code,
                         t->dtype.bits,
                         t->dtype.lanes,
                         t->shape,
                         t->strides};
    return true;
}

const tirc_exchange *tirc_exchange_open(uintptr_t capsule)
{
    static const char name[] = "dlpack_exchange_api";
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *object = (PyObject *)capsule;
    bool good = PyCapsule_IsValid(object, name);
    const tirc_exchange *e = good ? PyCapsule_GetPointer(object, name) : NULL;
    PyGILState_Release(state);
    return e && e->version.major == DLPACK_MAJOR && e->dltensor_from_py_object_no_sync ? e : NULL;
}

static bool is_contiguous(const DLTensor *t)
{
    int64_t unit = 1;
    for (int32_t i = t->ndim; t->strides && i-- > 0; unit *= t->shape[i])
        if (t->shape[i] != 1 && t->strides[i] != unit)
            return false;
    return true;
}

static bool is_as_expected(const DLTensor *t, const tirc_expected *e)
{
    if (t->device.type != e->device_type || t->device.id != e->device_id || t->ndim != e->ndim ||
        t->dtype.code != e->code || t->dtype.bits != e->bits || t->dtype.lanes != 1)
        return false;
    for (int32_t i = 0; i < t->ndim; i++)
        if (t->shape[i] != e->shape[i])
            return false;
    return is_contiguous(t);
}

static bool take_array(const tirc_exchange *exchange, PyObject *object, const tirc_expected *e,
                       uint64_t *address)
{
    DLTensor t;
    if (exchange->dltensor_from_py_object_no_sync(object, &t) != 0) {
        PyErr_Clear(); /* whoever looks at each argument finds what is wrong */
        return false;
    }
    *address = (uint64_t)(uintptr_t)t.data + t.byte_offset;
    return is_as_expected(&t, e);
}

static bool take_arrays(const tirc_repeat *r, PyObject *arguments)
{
    for (size_t i = 0; i < r->n; i++) {
        PyObject *object = PyTuple_GetItem(arguments, (Py_ssize_t)i);
        const tirc_expected *e = &r->expected[i];
        if (e->type && ((uintptr_t)Py_TYPE(object) != e->type ||
                        !take_array(r->exchange, object, e, &r->addresses[i])))
            return false;
    }
    return true;
}

static bool overlap(const tirc_repeat *r, size_t i, size_t j)
{
    const uint64_t *begin = r->addresses;
    return begin[i] < begin[j] + r->expected[j].bytes && begin[j] < begin[i] + r->expected[i].bytes;
}

static bool any_overlap(const tirc_repeat *r)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t j = 0; j < r->n && r->expected[i].is_written; j++)
            if (i != j && r->expected[j].type && overlap(r, i, j))
                return true;
    return false;
}

static bool take(const tirc_repeat *r, uintptr_t arguments)
{
    PyGILState_STATE state = PyGILState_Ensure();
    bool taken = take_arrays(r, (PyObject *)arguments);
    PyGILState_Release(state);
    return taken && !any_overlap(r);
}

/* As tirc.h takes them: a pointer for each parameter. */
static void *const *pointers(const tirc_repeat *r)
{
    return (void *const *)r->addresses;
}

int tirc_repeat_run(const tirc_repeat *r, uintptr_t arguments)
{
    return take(r, arguments) ? (int)tirc_run(r->t, r->program, r->sizes, pointers(r)) : -1;
}

int tirc_repeat_launch(const tirc_repeat *r, uintptr_t arguments, uintptr_t stream)
{
    if (!take(r, arguments))
        return -1;
    return (int)tirc_launch_on(r->t, r->program, r->sizes, pointers(r), (void *)stream);
}
