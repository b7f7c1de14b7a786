/* cleanup.c - simplification of the whole kernel, as one pass. */
#include "passes/lower/pass.h"

Kernel *pass_simplify(Context *c, const Kernel *kernel, const LowerOptions *options)
{
    (void)options;
    Stmt *body = simplify_stmt(facts_new(c), kernel->body);
    return names_settle(c, kernel_with_body(c, kernel, body ? body : stmt_empty(c, kernel->span)));
}
