"""tirc tune: its search, its log, and what uses the log, on the simulator and on a GPU in host
memory (tune_cuda.c)."""

import json
import os
import sqlite3
import subprocess

import pytest
from conftest import MATMUL, SMALL

TWICE = """
kernel twice<N = 1000>(x: f32[N]) -> y: f32[N]
{
    for i in N
        y[i] = x[i] * 2;
}

schedule blocks for twice(copies = 1)
{
    tune threads in [32, 64, 128, 256];
    let [i] = loops(y);
    let [block, thread] = split(i, [_, threads]);
    bind(block, blockIdx.x);
    bind(thread, threadIdx.x);
}
"""
BLOCKS = ("twice.tir", "--schedule", "blocks")


@pytest.fixture
def twice(tirc):
    tirc.write("twice.tir", TWICE)
    return tirc


@pytest.fixture
def gpu(twice):
    library = os.environ["TIRC_TUNE_CUDA"]
    twice.env.update(TIRC_CUDART=library, TIRC_NVRTC=library)
    return twice


def log_of(tirc):
    return tirc.folder / "cache" / "tuned.sqlite"


def figures(tirc, columns):
    with sqlite3.connect(log_of(tirc)) as log:
        return log.execute(f"SELECT {columns} FROM figure ORDER BY ms").fetchall()


def tune(tirc, *args, status=0, env=None):
    done = tirc("tune", *args, "--json", env=env)
    assert done.status == status, done.err
    return json.loads(done.out) if status == 0 else done.err


# ---- the simulator: the model ranks ------------------------------------------------------------


def test_without_a_gpu_the_model_ranks_and_says_so(twice):
    done = twice("tune", *BLOCKS)
    assert done.status == 0, done.err
    assert "there is no GPU: nothing was measured" in done.out
    assert "candidates: 4, 0 refused; 4 estimated" in done.out
    assert figures(twice, "device, measured, state, records") == [("NVIDIA H200", 0, 1, 1)] * 4


def test_the_default_uses_what_was_tuned_and_tuned_names_it(twice):
    plain = twice("twice.tir", "--emit", "cuda").out
    best = tune(twice, *BLOCKS)["choice"]
    threads = best.removeprefix("blocks(threads=").removesuffix(")")
    assert f"__launch_bounds__({threads})" in twice("twice.tir", "--emit", "cuda").out
    run = ("--run", "--device", "sim", "--json")
    assert json.loads(twice("twice.tir", *run).out)["schedule"] == best
    assert json.loads(twice("twice.tir", "--schedule", "tuned", *run).out)["schedule"] == best
    # not for other sizes, other settings, another log, or without one
    other = ("-D", "N=999", "--schedule", "tuned", "--emit", "cuda")
    assert "error[E0662]" in twice("twice.tir", *other).err
    assert twice("twice.tir", "--set", "threads=256", "--emit", "cuda").out == plain
    assert twice("twice.tir", "--emit", "cuda", "--tune-log", "").out == plain
    assert twice("twice.tir", "--emit", "cuda", env={"TIRC_TUNE_LOG": ""}).out == plain


def test_a_schedule_of_the_user_may_be_called_tuned(twice):
    twice.write("twice.tir", TWICE.replace("schedule blocks", "schedule tuned"))
    done = twice("twice.tir", "--schedule", "tuned", "--set", "threads=64", "--emit", "cuda")
    assert "__launch_bounds__(64)" in done.out


def test_a_second_run_takes_figures_from_the_log(twice):
    first = tune(twice, *BLOCKS)
    second = tune(twice, *BLOCKS)
    assert (first["done"], first["known"]) == (4, 0)
    assert (second["done"], second["known"]) == (0, 4)
    assert second["choice"] == first["choice"]


def test_comments_and_blanks_do_not_change_a_program(twice):
    tune(twice, *BLOCKS)
    twice.write("twice.tir", "// the same\n" + TWICE.replace("x[i] * 2", "x[i]  *  2"))
    assert tune(twice, *BLOCKS)["known"] == 4
    twice.write("twice.tir", TWICE.replace("x[i] * 2", "x[i] * 3"))
    assert tune(twice, *BLOCKS)["known"] == 0


def test_two_processes_share_the_work(twice):
    many = ", ".join(str(n) for n in range(32, 1025, 32))
    twice.write("twice.tir", TWICE.replace("32, 64, 128, 256", many))
    command = [twice.program, "tune", *BLOCKS, "--json"]
    both = [
        subprocess.Popen(command, cwd=twice.folder, env=twice.env, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    results = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    total = figures(twice, "records")
    assert set(total) == {(1,)}
    assert sum(r["done"] for r in results) == len(total) == 32
    assert all(r["done"] + r["known"] + r["elsewhere"] == len(total) for r in results)


def test_settings_that_are_given_stay(twice):
    result = tune(twice, *BLOCKS, "--set", "threads=64")
    assert result["choice"] == "blocks(threads=64)" and result["candidates"] == 1


def test_a_choice_may_change_later_choices(twice):
    tiles = TWICE.replace(
        "tune threads in [32, 64, 128, 256];",
        "tune wide in [true, false];\n"
        "    tune threads in sample_categorical(wide ? [128, 256] : [32, 64, 96]);",
    )
    twice.write("twice.tir", tiles)
    tune(twice, *BLOCKS)
    assert sorted(s.replace("\n", " ") for (s,) in figures(twice, "settings")) == [
        "wide=false threads=32",
        "wide=false threads=64",
        "wide=false threads=96",
        "wide=true threads=128",
        "wide=true threads=256",
    ]


def test_a_refused_choice_is_left_out(twice):
    twice.write("twice.tir", TWICE.replace("[32, 64, 128, 256]", "[32, 64, 4096]"))
    result = tune(twice, *BLOCKS)
    assert (result["candidates"], result["refused"]) == (2, 1)


def test_candidates_are_for_the_architecture_that_is_asked_for(twice):
    asks = 'assert target_has("sm_75") && !target_has("sm_80"), "for a T4";'
    twice.write("twice.tir", TWICE.replace("let [i] =", f"{asks}\n    let [i] ="))
    result = tune(twice, *BLOCKS, "--arch", "sm_75")
    assert (result["candidates"], result["refused"]) == (4, 0)
    assert "for a T4" in tune(twice, *BLOCKS, status=1)


def test_symbolic_sizes_are_tuned_at_a_value(twice):
    command = ("twice.tir", "-D", "N=?", "--schedule", "blocks")
    assert "size 'N' of 'twice' is symbolic" in tune(twice, *command, status=2)
    tune(twice, *command, "--size", "N=4097")
    assert set(figures(twice, "sizes")) == {("N=4097",)}
    done = twice("twice.tir", "-D", "N=?", "--schedule", "tuned", "--emit", "cuda")
    assert done.status == 0, done.err


@pytest.mark.parametrize("size", [0, 1, 4097])
def test_sizes_at_the_edge(twice, size):
    result = tune(twice, *BLOCKS, "-D", "N=?", "--size", f"N={size}")
    assert result["candidates"] == result["done"] == 4


# ---- a GPU: candidates are measured ------------------------------------------------------------


def test_a_gpu_measures_and_the_fastest_is_used(gpu):
    result = tune(gpu, *BLOCKS)
    assert result["choice"] == "blocks(threads=128)" and result["measured"]
    assert result["ms"] == pytest.approx(0.1, rel=1e-3)
    assert result["own_ms"] == pytest.approx(0.132, rel=1e-3)
    assert result["done"] == 4 and result["wrong"] == 0
    row = figures(gpu, "device, measured, state, version, arch, clock_mhz, memory_mhz, runs > 9")[0]
    assert row[1:] == (1, 1, "0.1.0", "sm_90a", 1980, 3201, 1)
    assert "__launch_bounds__(128)" in gpu("twice.tir", "--emit", "cuda").out
    assert json.loads(gpu("twice.tir", "--bench", "--json").out)["schedule"] == result["choice"]


def test_a_wrong_candidate_is_never_chosen(gpu):
    result = tune(gpu, *BLOCKS, env={"TUNE_WRONG": "128"})
    assert result["choice"] == "blocks(threads=32)" and result["wrong"] == 1
    assert (2,) in figures(gpu, "state")


def test_a_wrong_own_choice_is_refused(gpu):
    assert "error[E0635]" in tune(gpu, *BLOCKS, status=4, env={"TUNE_WRONG": "32"})


def test_a_killed_run_is_resumed(gpu):
    killed = gpu("tune", *BLOCKS, env={"TUNE_KILL": "256"})
    assert killed.status == -9
    states = dict(figures(gpu, "settings, state"))
    assert states["threads=256"] == 0  # claimed
    measured = sum(state == 1 for state in states.values())
    result = tune(gpu, *BLOCKS)
    assert result["known"] == measured and result["done"] == 4 - measured
    assert result["choice"] == "blocks(threads=128)"


def test_a_rank_takes_the_gpu_of_its_number(gpu):
    missing = {"OMPI_COMM_WORLD_LOCAL_RANK": "2"}
    assert "unknown GPU number 2" in tune(gpu, *BLOCKS, "--device", "cuda", status=3, env=missing)
    first = gpu("tune", *BLOCKS, env={"SLURM_LOCALID": "1"})
    assert first.status == 0 and first.out == ""  # rank 0 speaks
    shown = {"SLURM_LOCALID": "3", "CUDA_VISIBLE_DEVICES": "0"}
    assert gpu("tune", *BLOCKS, "--device", "cuda", env=shown).status == 0


def test_figures_of_another_device_do_not_count_on_this_one(gpu):
    tune(gpu, *BLOCKS, "--device", "sim")
    done = gpu("twice.tir", "--schedule", "tuned", "--run", "--device", "cuda")
    assert done.status == 1 and "error[E0662]" in done.err and " on CUDA device 0" in done.err


# ---- the log -----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["broken", "foreign", "newer"])
def test_a_file_that_is_no_log_is_refused_and_kept(twice, content):
    path = twice.folder / "log.sqlite"
    if content == "broken":
        path.write_bytes(b"no database, but longer than the header of one" * 40)
    else:
        with sqlite3.connect(path) as db:
            db.execute("CREATE TABLE t(x)")
            if content == "newer":
                db.execute("PRAGMA application_id = 1953067619")
                db.execute("PRAGMA user_version = 2")
        db.close()
    before = path.read_bytes()
    err = tune(twice, *BLOCKS, "--tune-log", "log.sqlite", status=3)
    assert "error[E0661]: 'log.sqlite' is" in err
    done = twice("twice.tir", "--schedule", "tuned", "--tune-log", path, "--emit", "cuda")
    assert done.status == 3 and "error[E0661]" in done.err
    done = twice("twice.tir", "--tune-log", path, "--emit", "cuda")
    assert done.status == 0 and "warning[E0661]" in done.err and "__global__" in done.out
    assert path.read_bytes() == before


def test_a_log_that_cannot_be_made(twice):
    for path in ("no/such/folder.sqlite", "."):
        err = tune(twice, *BLOCKS, "--tune-log", path, status=3)
        assert f"error[E0660]: the log of tuned programs '{path}' cannot be opened" in err
    err = tune(twice, *BLOCKS, "--tune-log", "", status=3)
    assert "error[E0660]: there is no log of tuned programs" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_log_in_a_folder_without_rights_is_read(twice):
    best = tune(twice, *BLOCKS)["choice"]
    folder = log_of(twice).parent
    log_of(twice).chmod(0o400)
    folder.chmod(0o500)
    try:
        assert "error[E0660]" in tune(twice, *BLOCKS, "-D", "N=77", status=3)
        done = twice("twice.tir", "--schedule", "tuned", "--run", "--json", "--device", "sim")
        assert json.loads(done.out)["schedule"] == best
    finally:
        folder.chmod(0o700)


def test_a_choice_that_is_no_more_is_left_to_default(twice):
    tune(twice, *BLOCKS)
    twice.write("twice.tir", TWICE.replace("schedule blocks", "schedule others"))
    done = twice("twice.tir", "--schedule", "tuned", "--emit", "cuda")
    assert done.status == 1 and "error[E0300]" in done.err
    assert twice("twice.tir", "--emit", "cuda").status == 0


# ---- usage -------------------------------------------------------------------------------------


def test_mistakes(twice):
    assert "no FILE.tir is given" in twice("tune").err
    assert "unknown schedule" in twice("tune", "twice.tir", "--schedule", "block").err
    assert "did you mean 'blocks'" in twice("tune", "twice.tir", "--schedule", "block").err
    assert "tirc tune takes" in twice("tune", *BLOCKS, "--emit", "cuda").err
    assert "--seconds needs tirc tune" in twice("twice.tir", "--emit", "cuda", "--seconds", "1").err
    assert "has no parameter 'thread'" in twice("tune", *BLOCKS, "--set", "thread=1").err
    assert twice("tune", MATMUL, *SMALL, "--schedule", "tiled32", "--set", "T=0").status == 1
