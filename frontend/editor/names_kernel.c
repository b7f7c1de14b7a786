/* names_kernel.c - Finds the names of kernels, functions, reducers and instructions. */
#include "frontend/editor/internal.h"

static void walk_stmt(Walk *w, const AstStmt *s);

static Span span_of(const AstExpr *e)
{
    return e ? e->span : span_none();
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void use_name(Walk *w, AstName name)
{
    if (name.text)
        walk_use(w, name.span, walk_find(w, name.text));
}

static void walk_expr(Walk *w, const AstExpr *e);

static void walk_exprs(Walk *w, AstExpr *const *items, int n)
{
    for (int i = 0; i < n; i++)
        walk_expr(w, items[i]);
}

static void use_function(Walk *w, AstName callee)
{
    int named = walk_find(w, callee.text);
    walk_use(w, callee.span, named >= 0 ? named : walk_find_item(w, NAMED_FUNCTION, callee.text));
}

static void walk_expr(Walk *w, const AstExpr *e)
{
    if (!e)
        return;
    if (e->kind == AE_NAME)
        walk_use(w, e->span, walk_find(w, e->u.name));
    if (e->kind == AE_CALL)
        use_function(w, e->u.call.callee);
    for (int i = 0; i < ast_operands(e); i++)
        walk_expr(w, ast_operand(e, i));
}

static void use_type(Walk *w, AstName type)
{
    int named = type.text ? walk_find(w, type.text) : -1;
    if (type.text)
        walk_use(w, type.span, named >= 0 ? named : walk_find_item(w, NAMED_REDUCER, type.text));
}

static void walk_type(Walk *w, const AstType *type)
{
    use_type(w, type->name);
    walk_exprs(w, type->shape, type->rank);
}

/* ---- statements ------------------------------------------------------------------------------ */

static Span range_of(const AstExpr *lo, const AstExpr *hi)
{
    return lo && hi ? walk_span(lo->span, hi->span) : span_of(hi);
}

static void walk_loops(Walk *w, const AstStmt *s)
{
    int begin = walk_begin(w);
    for (int i = 0; i < s->u.loop.n; i++) {
        const AstLoop *loop = &s->u.loop.loops[i];
        Span domain = range_of(loop->lo, loop->hi);
        walk_expr(w, loop->lo);
        walk_expr(w, loop->hi);
        walk_expr(w, loop->step);
        if (loop->step)
            domain = walk_span(domain, loop->step->span);
        walk_declare_here(w, &(Named){.kind = NAMED_LOOP,
                                      .name = loop->name.text,
                                      .span = loop->name.span,
                                      .whole = s->span,
                                      .domain = domain});
    }
    walk_stmt(w, s->u.loop.body);
    walk_end(w, begin, s->span);
}

static int declare_block(Walk *w, AstName name, Span whole)
{
    return walk_declare(
        w, &(Named){.kind = NAMED_BLOCK, .name = name.text, .span = name.span, .whole = whole});
}

static void use_instruction(Walk *w, AstName name)
{
    if (name.text)
        walk_use(w, name.span, walk_find_item(w, NAMED_INSTRUCTION, name.text));
}

static void walk_block(Walk *w, const AstStmt *s)
{
    int begin = walk_begin(w);
    declare_block(w, s->u.block.name, s->span);
    for (int i = 0; i < s->u.block.n; i++) {
        const AstIter *iter = &s->u.block.iters[i];
        walk_expr(w, iter->lo);
        walk_expr(w, iter->hi);
        walk_expr(w, iter->binding);
        walk_declare_here(w, &(Named){.kind = NAMED_ITER,
                                      .name = iter->name.text,
                                      .span = iter->name.span,
                                      .whole = iter->span,
                                      .domain = range_of(iter->lo, iter->hi)});
    }
    walk_expr(w, s->u.block.where);
    use_instruction(w, s->u.block.instruction);
    walk_stmt(w, s->u.block.body);
    walk_end(w, begin, s->span);
}

static void walk_seq(Walk *w, const AstStmt *s)
{
    int begin = walk_begin(w);
    for (int i = 0; i < s->u.seq.n; i++)
        walk_stmt(w, s->u.seq.items[i]);
    walk_end(w, begin, s->span);
}

static void walk_let(Walk *w, const AstStmt *s)
{
    walk_expr(w, s->u.let.value);
    use_type(w, s->u.let.type);
    walk_declare_here(w, &(Named){.kind = NAMED_VALUE,
                                  .name = s->u.let.pattern.name,
                                  .span = s->u.let.pattern.span,
                                  .whole = s->span,
                                  .type = s->u.let.type.text ? s->u.let.type.span : span_none(),
                                  .domain = span_of(s->u.let.value)});
}

static void walk_temp(Walk *w, const AstStmt *s)
{
    walk_type(w, &s->u.temp.type);
    for (int i = 0; i < s->u.temp.n_layout; i++)
        walk_exprs(w, s->u.temp.layout[i].args, s->u.temp.layout[i].n);
    walk_declare_here(w, &(Named){.kind = NAMED_TEMP,
                                  .name = s->u.temp.name.text,
                                  .span = s->u.temp.name.span,
                                  .whole = s->span,
                                  .type = s->u.temp.type.span});
}

static void walk_view(Walk *w, const AstStmt *s)
{
    int begin = walk_begin(w);
    for (int i = 0; i < s->u.view.n; i++)
        walk_declare_here(w, &(Named){.kind = NAMED_VALUE,
                                      .name = s->u.view.params[i].text,
                                      .span = s->u.view.params[i].span,
                                      .whole = s->span,
                                      .domain = span_none()});
    walk_expr(w, s->u.view.place);
    walk_end(w, begin, s->span);
    walk_declare_here(w, &(Named){.kind = NAMED_VALUE,
                                  .name = s->u.view.name.text,
                                  .span = s->u.view.name.span,
                                  .whole = s->span,
                                  .domain = span_of(s->u.view.place)});
}

static void walk_store(Walk *w, const AstStmt *s)
{
    use_name(w, s->u.store.buffer);
    walk_exprs(w, s->u.store.index, s->u.store.n);
    walk_expr(w, s->u.store.value);
}

static void walk_update(Walk *w, const AstStmt *s)
{
    AstName reducer = s->u.update.reducer;
    walk_expr(w, s->u.update.places);
    walk_use(w, reducer.span, walk_find_item(w, NAMED_REDUCER, reducer.text));
    walk_expr(w, s->u.update.value);
}

static void walk_stmt(Walk *w, const AstStmt *s)
{
    switch (s->kind) {
    case AS_SEQ: walk_seq(w, s); return;
    case AS_FOR: walk_loops(w, s); return;
    case AS_IF:
    case AS_WHILE:
        walk_expr(w, s->u.cond.cond);
        walk_stmt(w, s->u.cond.then);
        if (s->u.cond.otherwise)
            walk_stmt(w, s->u.cond.otherwise);
        return;
    case AS_LET: walk_let(w, s); return;
    case AS_STORE: walk_store(w, s); return;
    case AS_UPDATE: walk_update(w, s); return;
    case AS_TEMP: walk_temp(w, s); return;
    case AS_VIEW: walk_view(w, s); return;
    case AS_LABEL:
        declare_block(w, s->u.label.name, s->span);
        walk_stmt(w, s->u.label.body);
        return;
    case AS_BLOCK: walk_block(w, s); return;
    case AS_INIT: walk_stmt(w, s->u.init); return;
    case AS_LAUNCH:
        walk_exprs(w, s->u.launch.grid, s->u.launch.n_grid);
        walk_exprs(w, s->u.launch.block, s->u.launch.n_block);
        walk_stmt(w, s->u.launch.body);
        return;
    case AS_ROLES:
        walk_stmt(w, s->u.roles.producer);
        walk_stmt(w, s->u.roles.consumers);
        return;
    case AS_BARRIER:
        if (s->u.barrier.instruction.text)
            use_instruction(w, s->u.barrier.instruction);
        return;
    case AS_CALL:
        use_instruction(w, s->u.call.name);
        walk_exprs(w, s->u.call.values, s->u.call.n_values);
        for (int i = 0; i < s->u.call.n; i++)
            walk_expr(w, s->u.call.args[i].value);
        return;
    case AS_INSTRUCTION:
        use_instruction(w, s->u.instruction.name);
        walk_exprs(w, s->u.instruction.elements, s->u.instruction.n);
        walk_stmt(w, s->u.instruction.body);
        return;
    default: return;
    }
}

/* ---- items ----------------------------------------------------------------------------------- */

static void walk_sizes(Walk *w, const AstSize *sizes, int n)
{
    for (int i = 0; i < n; i++) {
        walk_expr(w, sizes[i].value);
        Span value = sizes[i].type_value.text ? sizes[i].type_value.span : span_of(sizes[i].value);
        walk_declare_here(w, &(Named){.kind = sizes[i].is_type ? NAMED_TYPE : NAMED_SIZE,
                                      .name = sizes[i].name.text,
                                      .span = sizes[i].name.span,
                                      .whole = sizes[i].span,
                                      .domain = value});
    }
}

enum { INPUTS, OUTPUTS };

static void walk_params(Walk *w, const AstParam *params, int n, bool outputs)
{
    for (int i = 0; i < n; i++) {
        bool buffer = params[i].type.has_shape || params[i].inout || outputs;
        walk_type(w, &params[i].type);
        walk_declare_here(w, &(Named){.kind = buffer ? NAMED_BUFFER : NAMED_SCALAR,
                                      .name = params[i].name.text,
                                      .span = params[i].name.span,
                                      .whole = params[i].span,
                                      .type = params[i].type.span});
        for (int k = 0; k < params[i].n_clauses; k++)
            walk_exprs(w, params[i].clauses[k].args, params[i].clauses[k].n);
    }
}

static void walk_facts(Walk *w, const AstFact *facts, int n)
{
    for (int i = 0; i < n; i++) {
        walk_expr(w, facts[i].value);
        walk_expr(w, facts[i].lo);
        walk_expr(w, facts[i].hi);
    }
}

static void walk_lets(Walk *w, AstStmt *const *lets, int n)
{
    for (int i = 0; i < n; i++)
        walk_stmt(w, lets[i]);
}

static void walk_kernel(Walk *w, const AstKernel *k, int number)
{
    int begin = walk_begin(w);
    w->parent = number;
    walk_sizes(w, k->sizes, k->n_sizes);

    walk_params(w, k->params, k->n_params, INPUTS);
    walk_params(w, k->outputs, k->n_outputs, OUTPUTS);
    walk_facts(w, k->facts, k->n_facts);
    walk_stmt(w, k->body);
    walk_end(w, begin, k->span);
    w->parent = -1;
}

static void walk_function(Walk *w, const AstFunction *f, int number)
{
    int begin = walk_begin(w);
    w->parent = number;
    walk_sizes(w, f->types, f->n_types);
    walk_params(w, f->params, f->n_params, INPUTS);
    use_type(w, f->result);
    walk_lets(w, f->lets, f->n_lets);
    walk_expr(w, f->value);
    walk_end(w, begin, f->span);
    w->parent = -1;
}

static void declare_operand(Walk *w, AstName name, const AstReducer *r)
{
    walk_declare_here(w, &(Named){.kind = NAMED_SCALAR,
                                  .name = name.text,
                                  .span = name.span,
                                  .whole = name.span,
                                  .type = r->name.span});
}

static void walk_reducer(Walk *w, const AstReducer *r, int number)
{
    int begin = walk_begin(w);
    w->parent = number;
    walk_params(w, r->parts, r->n, INPUTS);
    walk_facts(w, r->facts, r->n_facts);
    walk_expr(w, r->identities);
    declare_operand(w, r->a, r);
    declare_operand(w, r->b, r);
    walk_lets(w, r->lets, r->n_lets);
    walk_expr(w, r->value);
    walk_end(w, begin, r->span);
    w->parent = -1;
}

static void walk_operands(Walk *w, const AstOperand *operands, int n, bool outputs)
{
    for (int i = 0; i < n; i++)
        walk_params(w, &operands[i].param, 1, outputs);
}

static void walk_template_loop(Walk *w, const AstLoop *loop)
{
    walk_expr(w, loop->lo);
    walk_expr(w, loop->hi);
}

static void walk_instruction(Walk *w, const AstInstruction *i, int number)
{
    int begin = walk_begin(w);
    w->parent = number;
    walk_sizes(w, i->sizes, i->n_sizes);
    walk_operands(w, i->operands, i->n_operands, INPUTS);
    walk_operands(w, i->outputs, i->n_outputs, OUTPUTS);
    walk_facts(w, i->facts, i->n_facts);
    for (int k = 0; k < i->n_parts; k++)
        if (i->template[k].loop)
            walk_template_loop(w, i->template[k].loop);
    walk_stmt(w, i->body);
    walk_end(w, begin, i->span);
    w->parent = -1;
}

/* All are declared first: their order does not matter. */
void walk_programs(Walk *w, const AstFile *file)
{
    int first = w->index->items.n, number = first;
    for (int i = 0; i < file->functions->n; i++)
        walk_declare(w, &(Named){.kind = NAMED_FUNCTION,
                                 .name = file->functions->items[i]->name.text,
                                 .span = file->functions->items[i]->name.span,
                                 .whole = file->functions->items[i]->span});
    for (int i = 0; i < file->n_reducers; i++)
        walk_declare(w, &(Named){.kind = NAMED_REDUCER,
                                 .name = file->reducers[i]->name.text,
                                 .span = file->reducers[i]->name.span,
                                 .whole = file->reducers[i]->span});
    for (int i = 0; i < file->n_instructions; i++)
        walk_declare(w, &(Named){.kind = NAMED_INSTRUCTION,
                                 .name = file->instructions[i]->name.text,
                                 .span = file->instructions[i]->name.span,
                                 .whole = file->instructions[i]->span});
    for (int i = 0; i < file->n_kernels; i++)
        walk_declare(w, &(Named){.kind = NAMED_KERNEL,
                                 .name = file->kernels[i]->name.text,
                                 .span = file->kernels[i]->name.span,
                                 .whole = file->kernels[i]->span});
    for (int i = 0; i < file->functions->n; i++)
        walk_function(w, file->functions->items[i], number++);
    for (int i = 0; i < file->n_reducers; i++)
        walk_reducer(w, file->reducers[i], number++);
    for (int i = 0; i < file->n_instructions; i++)
        walk_instruction(w, file->instructions[i], number++);
    for (int i = 0; i < file->n_kernels; i++)
        walk_kernel(w, file->kernels[i], number++);
}
