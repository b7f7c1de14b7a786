"""Asks TVM about each case: is the schedule accepted, and what does the program compute?

    python ask_tvm.py FOLDER FILE.py...

writes FOLDER/verdicts.json ({"file.case": "" or the first line of the refusal}) and, for each
program, its arguments before and after a run of the program as it is written:
FOLDER/file.program.parameter.npy and FOLDER/file.program.parameter.out.npy. What TVM prints is
FOLDER/file.program.script, and for each accepted schedule FOLDER/file.case.script, the program
after it, and FOLDER/file.case.trace.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import tvm

SIZE = 21  # of symbolic axes


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # TVM asks for the sources of its classes
    spec.loader.exec_module(module)
    return module


def is_program(value):
    return isinstance(value, (tvm.tirx.PrimFunc, tvm.IRModule))


def ask(make, name, folder):
    try:
        made = make()
        (folder / f"{name}.script").write_text(made.mod.script())
        (folder / f"{name}.trace").write_text(str(made.trace))
        return ""
    except Exception as e:  # of several classes, that versions of TVM name differently
        lines = [line.strip() for line in str(e).splitlines() if line.strip()]
        said = [line for line in lines if line.startswith(("Error message:", "ScheduleError:"))]
        return (said or lines or ["refused"])[-1][:200]


def arguments(function, random):
    for buffer in function.params:
        shape = [int(n) if isinstance(n, tvm.tirx.IntImm) else SIZE for n in buffer.shape]
        if "float" in str(buffer.dtype):
            yield buffer.name, random.random(shape).astype(str(buffer.dtype)) - 0.5
        else:
            yield buffer.name, random.integers(-9, 40, shape).astype(str(buffer.dtype))


def run(name, program, folder):
    (folder / f"{name}.script").write_text(program.script())
    module = program if isinstance(program, tvm.IRModule) else tvm.IRModule({"main": program})
    for variable, function in module.functions.items():
        given = list(arguments(function, np.random.default_rng(len(name))))
        tensors = [tvm.runtime.tensor(data) for _, data in given]
        built = tvm.tirx.build(module, target="llvm")
        built[variable.name_hint](*tensors)
        for (parameter, data), tensor in zip(given, tensors):
            np.save(folder / f"{name}.{parameter}.npy", data)
            np.save(folder / f"{name}.{parameter}.out.npy", tensor.numpy())


def main(folder, files):
    verdicts = {}
    for path in map(Path, files):
        module = load(path)
        for name, value in vars(module).items():
            if is_program(value):
                run(f"{path.stem}.{name}", value, folder)
            elif callable(value) and getattr(value, "__module__", "") == path.stem:
                verdicts[f"{path.stem}.{name}"] = ask(value, f"{path.stem}.{name}", folder)
    (folder / "verdicts.json").write_text(json.dumps(verdicts, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
