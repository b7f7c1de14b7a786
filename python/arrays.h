/* arrays.h - Declares how the binding reads arrays of other Python libraries, by DLPack.
 *
 * Objects are passed as id(object). cffi calls without the GIL, and these functions take it. A file
 * that includes this one includes tirc.h before. */
typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    const int64_t *shape, *strides;
} tirc_dlpack;
/* Reads the array of a capsule, which must stay alive while the array is in use. False: it is no
 * capsule with an array that nobody has taken. */
bool tirc_dlpack_read(uintptr_t capsule, tirc_dlpack *out);

/* The table of functions in a capsule `__dlpack_c_exchange_api__`, which reads an array without a
 * capsule of its own; NULL: it has another version, or does not read arrays. */
typedef struct tirc_exchange tirc_exchange;
const tirc_exchange *tirc_exchange_open(uintptr_t capsule);

/* One argument of a call. */
typedef struct {
    uintptr_t type; /* exactly, by id(type(argument)); 0: no array, and anything will do */
    /* of an array, which is contiguous */
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    const int64_t *shape;
    uint64_t bytes;
    bool is_written;
} tirc_expected;

/* A call that is made again with other arrays of the same types and shapes. */
typedef struct {
    tirc *t;
    tirc_program *program;
    const int64_t *sizes;
    const tirc_exchange *exchange;
    const tirc_expected *expected; /* [n] */
    uint64_t *addresses;           /* [n] of the arrays; the caller fills in those of scalars */
    size_t n;
} tirc_repeat;
/* Runs the program in host memory on the arguments, a tuple of n: tirc_run. Returns -1 if they are
 * not as expected, or if one that is written overlaps another. */
int tirc_repeat_run(const tirc_repeat *repeat, uintptr_t arguments);
/* The same on a CUDA stream: tirc_launch_on. */
int tirc_repeat_launch(const tirc_repeat *repeat, uintptr_t arguments, uintptr_t stream);
