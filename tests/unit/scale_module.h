/* scale_module.h - a module written by hand, for tests of devices: two launches of one kernel with
 * every kind of argument.
 *
 *   for t in 0..2
 *       scale<<<(N + 31) / 32, 32>>>(y, x, alpha, N, t)        y[i] = alpha * x[i] + t */
#ifndef TIRC_TESTS_SCALE_MODULE_H
#define TIRC_TESTS_SCALE_MODULE_H

#include "runtime/module.h"

static const VmRegister HOST_REGISTERS[] = {{VM_I64, true}, {VM_F32, true}, {VM_I64, true},
                                            {VM_I64, true}, {VM_I64, true}, {VM_I64, true},
                                            {VM_I64, true}, {VM_I64, true}, {VM_I64, true}};
enum { R_N, R_ALPHA, R_ZERO, R_ONE, R_TWO, R_T, R_GRID, R_31, R_32 };
static const VmConstant HOST_CONSTANTS[] = {{R_ZERO, {.i64 = 0}},
                                            {R_ONE, {.i64 = 1}},
                                            {R_TWO, {.i64 = 2}},
                                            {R_31, {.i64 = 31}},
                                            {R_32, {.i64 = 32}}};
static const int HOST_INPUTS[] = {R_N, R_ALPHA};
static const int HOST_LISTS[] = {R_GRID, R_ONE, R_ONE, R_T};
static const VmInst HOST_CODE[] = {
    {.op = VM_ADD, .type = VM_I64, .d = R_GRID, .a = R_N, .b = R_31},
    {.op = VM_DIV, .type = VM_I64, .d = R_GRID, .a = R_GRID, .b = R_32},
    {.op = VM_FOR, .type = VM_I64, .d = R_T, .a = R_ZERO, .b = R_TWO, .to = 4},
    {.op = VM_LAUNCH, .d = 0, .a = 0, .b = 4},
    {.op = VM_NEXT, .type = VM_I64, .d = R_T, .a = R_ONE, .b = R_TWO, .to = 2},
    {.op = VM_STOP}};
static const Span HOST_SPANS[6];
static const int HOST_STEPS[6];
static const VmFunction HOST = {.name = "scale",
                                .n_registers = 9,
                                .n_constants = 5,
                                .n_inputs = 2,
                                .n_code = 6,
                                .n_lists = 4,
                                .registers = HOST_REGISTERS,
                                .constants = HOST_CONSTANTS,
                                .inputs = HOST_INPUTS,
                                .code = HOST_CODE,
                                .spans = HOST_SPANS,
                                .steps = HOST_STEPS,
                                .lists = HOST_LISTS,
                                .axes = {{-1, -1, -1, -1, -1, -1, -1}}};
static const ModuleSize SIZES[] = {{"N", true, 0}};
static const ModuleScalar SCALARS[] = {{.name = "alpha", .type = DT_F32}};
static const ModuleBuffer BUFFERS[] = {
    {.name = "x", .type = DT_F32, .role = BUFFER_IN, .rank = 1},
    {.name = "y", .type = DT_F32, .role = BUFFER_OUT, .rank = 1}};
static const KernelArgument ARGUMENTS[] = {{ARG_BUFFER, 1, DT_F32},
                                           {ARG_BUFFER, 0, DT_F32},
                                           {ARG_SCALAR, 0, DT_F32},
                                           {ARG_SIZE, 0, DT_INDEX},
                                           {ARG_HOST, 0, DT_INDEX}};
static const KernelArgument WIDE_ARGUMENTS[] = {{ARG_BUFFER, 1, DT_F32},
                                                {ARG_BUFFER, 0, DT_F32},
                                                {ARG_SCALAR, 0, DT_F32},
                                                {ARG_SIZE, 0, DT_I64},
                                                {ARG_HOST, 0, DT_I64}};
static const ModuleKernel KERNELS[] = {{.name = "scale",
                                        .symbol = "scale",
                                        .block = {32, 1, 1},
                                        .n_arguments = 5,
                                        .arguments = ARGUMENTS}};
static const ModuleKernel WIDE_KERNELS[] = {{.name = "scale",
                                             .symbol = "scale",
                                             .block = {32, 1, 1},
                                             .n_arguments = 5,
                                             .arguments = WIDE_ARGUMENTS}};
static const Module MODULE_SCALE = {.name = "scale",
                                    .source =
                                        "extern \"C\" __global__ void __launch_bounds__(32)\n"
                                        "scale(float *__restrict__ y, const float *__restrict__ x, "
                                        "const float alpha, const int N, const int t)\n"
                                        "{\n"
                                        "    int i = blockIdx.x * 32 + threadIdx.x;\n"
                                        "    if (i < N)\n"
                                        "        y[i] = alpha * x[i] + t;\n"
                                        "}\n",
                                    .n_sizes = 1,
                                    .n_scalars = 1,
                                    .n_buffers = 2,
                                    .n_kernels = 1,
                                    .sizes = SIZES,
                                    .scalars = SCALARS,
                                    .buffers = BUFFERS,
                                    .kernels = KERNELS,
                                    .host = &HOST};

#endif