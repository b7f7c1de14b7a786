/* instruction.c - Finds the instruction of a call of tensorize, for the values of its parameters.
 *
 *   instruction mma<T: type, N>(...)      tensorize(loop, mma, [bf16, 64])
 *
 * The parameters take the values in their order, and those that are left their defaults. */
#include "ir/instruction.h"
#include "frontend/script/internal.h"

/* mma<T: type, N> */
static const char *header_of(Context *c, const AstInstruction *ast)
{
    StrBuf text = strbuf_new(c->arena);
    strbuf_add(&text, ast->name.text);
    for (int i = 0; i < ast->n_sizes; i++)
        strbuf_addf(&text, "%s%.60s%s", i ? ", " : "<", ast->sizes[i].name.text,
                    ast->sizes[i].is_type ? ": type" : "");
    strbuf_add(&text, ast->n_sizes ? ">" : "");
    return text.text;
}

static bool refuse(Script *s, const InstructionCall *call, const AstInstruction *ast,
                   const char *what)
{
    diag_error(s->c, E0851, call->span,
               "%s; the instruction is %s, without a default for a "
               "parameter it takes a value in the list behind its name",
               what, header_of(s->c, ast));
    diag_note(s->c, ast->name.span, "instruction '%s' is declared here", ast->name.text);
    return false;
}

/* A type is a word, or the string that the query `type` gives. */
static bool read_argument(const AstSize *parameter, const Value *value, SizeOverride *out)
{
    bool word = value->kind == VALUE_WORD || value->kind == VALUE_STRING;
    *out = (SizeOverride){.name = parameter->name.text};
    if (parameter->is_type) {
        out->kind = SIZE_TYPE;
        out->type = word ? type_find(value->u.s) : DT_COUNT;
        return out->type < DT_INDEX;
    }
    out->kind = SIZE_CONSTANT;
    out->value = value->kind == VALUE_INT ? value->u.i : 0;
    return out->value >= 1;
}

static bool read_arguments(Script *s, const InstructionCall *call, const AstInstruction *ast,
                           SizeOverride *out)
{
    Arena *arena = s->c->arena;
    int n = call->n_arguments;
    if (n > ast->n_sizes)
        return refuse(s, call, ast,
                      arena_printf(arena, "instruction '%s' takes %d value%s, found %d",
                                   ast->name.text, ast->n_sizes, ast->n_sizes == 1 ? "" : "s", n));
    for (int i = 0; i < ast->n_sizes; i++) {
        const AstSize *parameter = &ast->sizes[i];
        const char *wants = parameter->is_type ? "a type" : "an integer of at least 1";
        bool given = i < n;
        if (given ? !read_argument(parameter, &call->arguments[i], &out[i])
                  : !parameter->value && !parameter->type_value.text)
            return refuse(s, call, ast,
                          arena_printf(arena, "parameter '%.60s' of instruction '%s' takes %s%s",
                                       parameter->name.text, ast->name.text, wants,
                                       given ? "" : ", and has no default"));
    }
    return true;
}

static const Instruction *use_instruction(Script *s, const InstructionCall *call,
                                          const AstInstruction *ast)
{
    int n = call->n_arguments;
    SizeOverride *arguments = ARENA_ARRAY(s->c->arena, SizeOverride, n + 1);
    if (!read_arguments(s, call, ast, arguments))
        return NULL;
    const Instruction *found = instruction_case(s->c, &s->instructions, ast, arguments, n);
    if (!found && ast->n_sizes > 0)
        diag_note(s->c, call->span, "the instruction is used with these values here");
    return found;
}

static const char *nearest_instruction(Context *c, const AstFile *file, const Kernel *kernel,
                                       Name name)
{
    ScriptFileList seen = {0};
    VEC(const char *) words = {0};
    for (int i = 0; i < kernel->n_instructions; i++)
        VEC_PUSH(c->arena, &words, kernel->instructions[i]->kernel->name);
    script_files_seen(c, file, &seen);
    for (int i = 0; i < seen.n; i++)
        for (int k = 0; k < seen.items[i]->n_instructions; k++)
            VEC_PUSH(c->arena, &words, seen.items[i]->instructions[k]->name.text);
    return diag_suggest(name, words.items, words.n);
}

const Instruction *script_find_instruction(void *script, const Kernel *kernel,
                                           const InstructionCall *call, const char **near)
{
    Script *s = script;
    const AstFile *file = s->frame->file;
    const AstInstruction *ast = script_find_declaration(s->c, file, kernel, call->name);
    if (ast)
        return use_instruction(s, call, ast);
    *near = nearest_instruction(s->c, file, kernel, call->name);
    return NULL;
}
