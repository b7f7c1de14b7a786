/* cubin.c - Reads the registers and the stack size of kernels from machine code. A cubin is a
 * 64-bit little-endian ELF file.
 *
 * A record of .nv.info is a format byte, an attribute byte and 16 bits: a value, or for the format
 * "sized" the number of bytes that follow.  Attributes of a kernel follow as its symbol's number
 * and a 32-bit value.  (The layout is what `cuobjdump -elf` prints; every offset is checked,
 * because a file from elsewhere may say anything.) */
#include "runtime/cuda/cubin.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum {
    FORMAT_SIZED = 0x04,
    ATTRIBUTE_FRAME_SIZE = 0x11,
    ATTRIBUTE_REGISTERS = 0x2f,
    RECORD_HEAD = 4,
    KERNEL_VALUE = 8, /* bytes: symbol, value */
};

typedef struct {
    const uint8_t *data;
    size_t bytes;
} Bytes;

/* `size` bytes at `offset`, or NULL where the image has none. */
static const void *at(Bytes image, uint64_t offset, uint64_t size)
{
    if (offset > image.bytes || size > image.bytes - offset)
        return NULL;
    return image.data + offset;
}

static bool read_section(Bytes image, const Elf64_Ehdr *head, unsigned index, Elf64_Shdr *out)
{
    if (index >= head->e_shnum || head->e_shentsize != sizeof *out)
        return false;
    const void *from = at(image, head->e_shoff + (uint64_t)index * sizeof *out, sizeof *out);
    if (from)
        memcpy(out, from, sizeof *out);
    return from != NULL;
}

static Bytes content(Bytes image, const Elf64_Shdr *section)
{
    const void *data =
        section->sh_type == SHT_NOBITS ? NULL : at(image, section->sh_offset, section->sh_size);
    return (Bytes){data, data ? section->sh_size : 0};
}

/* A terminated string of a string table; "" where there is none. */
static const char *string_at(Bytes table, uint32_t offset)
{
    if (offset >= table.bytes || !memchr(table.data + offset, 0, table.bytes - offset))
        return "";
    return (const char *)table.data + offset;
}

/* The number of the function `name` in a symbol table, or 0, which is no symbol. */
static uint32_t find_symbol(Bytes symbols, Bytes names, const char *name)
{
    for (uint32_t i = 0; (i + (uint64_t)1) * sizeof(Elf64_Sym) <= symbols.bytes; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.data + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            !strcmp(string_at(names, symbol.st_name), name))
            return i;
    }
    return 0;
}

static bool read_records(Bytes info, uint32_t symbol, CubinKernel *out)
{
    bool found = false;
    for (size_t i = 0; i + RECORD_HEAD <= info.bytes;) {
        uint8_t format = info.data[i], attribute = info.data[i + 1];
        uint16_t size;
        uint32_t pair[2];
        memcpy(&size, info.data + i + 2, sizeof size);
        i += RECORD_HEAD;
        if (format != FORMAT_SIZED)
            continue;
        if (size > info.bytes - i)
            return found;
        if (size == KERNEL_VALUE) {
            memcpy(pair, info.data + i, sizeof pair);
            if (pair[0] == symbol && attribute == ATTRIBUTE_REGISTERS) {
                out->registers = (int)pair[1];
                found = true;
            } else if (pair[0] == symbol && attribute == ATTRIBUTE_FRAME_SIZE) {
                out->stack_bytes = (int)pair[1];
            }
        }
        i += size;
    }
    return found;
}

bool cubin_kernel(const void *data, size_t bytes, const char *name, CubinKernel *out)
{
    Bytes image = {data, bytes};
    Elf64_Ehdr head;
    Elf64_Shdr names_section, section, symbols_section, strings_section;
    *out = (CubinKernel){0};
    if (bytes < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        !read_section(image, &head, head.e_shstrndx, &names_section))
        return false;
    Bytes names = content(image, &names_section);
    for (unsigned i = 0; read_section(image, &head, i, &section); i++) {
        if (strcmp(string_at(names, section.sh_name), ".nv.info") != 0 ||
            !read_section(image, &head, section.sh_link, &symbols_section) ||
            !read_section(image, &head, symbols_section.sh_link, &strings_section))
            continue;
        uint32_t symbol =
            find_symbol(content(image, &symbols_section), content(image, &strings_section), name);
        if (symbol && read_records(content(image, &section), symbol, out))
            return true;
    }
    return false;
}
