"""Runs complete programs (--emit cu): many of them in one translation unit, each in a namespace and
a process of its own.

A record has "complete", the text, beside what batch.py asks for. The verdict is that of the
program's own check."""

import json
import re

import batch
import cuda_text


def with_launches(text):
    """f<<<grid, block, bytes>>>(a) as calls of the emulator."""
    out, at = [], 0
    for found in re.finditer(r"\b(\w+)<<<(.*?)>>>\(", text):
        end = cuda_text.closing(text, found.end() - 1)
        if text.rfind("\n", 0, found.start()) != -1 and text[
            text.rfind("\n", 0, found.start()) : found.start()
        ].lstrip().startswith("//"):
            continue  # the comment that says how to launch
        name, arguments = found.group(1), text[found.end() : end]
        grid, block, *dynamic = cuda_text.split_top(found.group(2), ",")
        out += [
            text[at : found.start()],
            f"emulator::launch({grid}, {block}, {(dynamic or ['0'])[0]}, SHARED, [&] {{ "
            f"{name}({arguments}); }})",
        ]
        at = end + 1
    return "".join(out) + text[at:]


def dynamic_bytes(text):
    return max([int(n) for n in re.findall(r"<<<.*,\s*(\d+)>>>", text) if int(n) > 1024] + [16])


def program_text(record, number):
    """The namespace of a program."""
    text = record["complete"]
    text = re.sub(r"^#include .*\n", "", text, flags=re.M)
    text = with_launches(cuda_text.host_text(text, dynamic_bytes(text)))
    text = re.sub(r"(?<![\w>:])::(\w+)", rf"complete_{number}::\1", text)
    return cuda_text.in_namespace(text, number, "complete")


def unit_text(programs):
    rows = []
    for record, number, text in programs:
        order = [n for n, value in json.loads(record["launches"])["sizes"].items() if value is None]
        arguments = "".join(f', "{record["sizes"][n]}"' for n in order)
        rows.append(
            f'{{"{record["name"]}", complete_{number}::main, {len(order) + 1}, '
            f'{{"program"{arguments}}}}}'
        )
    return f"""{"".join(text for _, _, text in programs)}
#line 1 "table"
static const emulator::Complete programs[] = {{
    {", ".join(rows)}}};
int main(int argc, char **argv)
{{
    return emulator::run_complete(programs, {len(rows)}, argc, argv);
}}
"""


def run(compiler, name, records):
    """[(record, verdict, detail)] of all records, as batch.run."""
    return batch.run(compiler, name, records, make=program_text, unit=unit_text)
