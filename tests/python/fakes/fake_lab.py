# SPDX-License-Identifier: BSL-1.0
"""Fakes the native programs: the same command lines, statuses and files, with figures from the test.

It is installed under their names, next to a `fake.json`:
  events, subsystems [{name, bytes, …}]   what the trace holds             processes      how many are recorded
  cpu {variant: seconds}                  what a round of a control costs  gains {name: factor} what its own pool does,
                                          if pools are kept apart
  together                                what several pools do beyond their gains
  with_others {name: factor}              what a pool does where there is another
  noise                                   relative, seeded                 run            really run the program
  exit, signal                            how the program ends             fails {step: [status, message]}
  killed                                  variants under which the program dies
  mallocs {name: [CPU, peak]}             what other mallocs make of the bare program, as factors; all that there are
  peaks {name: factor}                    what a subsystem's own pool makes of the peak
  no_preload                              libraries are never loaded        costs {name: cost} as the probe has them
  builds {program's name: factor}         what a build takes of the CPU
  references                              the characterisation of a captured run
  peak_bytes                              of a bare round; 10 000 000
  replayed {name or variant: seconds}     what a round of a replay takes: the null loop's 0.1 and these (1 for others)
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CONFIG: dict[str, object] = {}


def option(name: str) -> str | None:
    words = sys.argv[: sys.argv.index("--")] if "--" in sys.argv else sys.argv
    joined = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    return joined[0] if joined else words[words.index(name) + 1] if name in words else None


def program() -> list[str]:
    return sys.argv[sys.argv.index("--") + 1 :]


def fail_if_told(step: str) -> None:
    if step in CONFIG.get("fails", {}):
        status, message = CONFIG["fails"][step]
        print(f"millpond: {message}", file=sys.stderr)
        sys.exit(status)


def call_number() -> int:
    with (HERE / "calls.log").open("a+") as log:
        log.write(json.dumps(sys.argv) + "\n")
        log.seek(0)
        return len(log.readlines())


def die_of(number: int) -> None:
    if __name__ == "__main__":
        os.kill(os.getpid(), number)
    sys.exit(-number)


def record() -> None:
    fail_if_told("record")
    file = Path(option("-o") or "")
    for number in range(CONFIG.get("processes", 1)):
        path = file if number == 0 else file.with_name(f"{file.name}.{1000 + number}")
        path.write_text(str(number))
    status = subprocess.call(program()) if CONFIG.get("run") else CONFIG.get("exit", 0)
    if died := CONFIG.get("signal") or max(-status, 0):
        die_of(died)
    sys.exit(status)


def references() -> None:
    """Fakes millpond-references: writes a trace with a number that no recording has."""
    fail_if_told("references")
    Path(option("-o") or "").write_text("captured")


def list_traces() -> None:
    """Fakes `millpond-trace list [--null] FILE`: the names decide the answer."""
    file = Path(sys.argv[-1])
    siblings = file.parent.glob(f"{file.name}*")
    found = [path for path in siblings if not path.name.removeprefix(file.name).strip(".0123456789")]
    if not found:
        print(f"millpond: there is no trace {file}", file=sys.stderr)
        sys.exit(3)
    end = "\0" if "--null" in sys.argv else "\n"
    print("".join(f"{path}{end}" for path in sorted(map(str, found))), end="")


def trace_of(path: str, number: int) -> dict[str, object]:
    events = CONFIG.get("events", 0)
    share = {"sampled": 100, "differed": 0, "share": 0.0}
    return {
        "trace": {"path": path, "events": events, "bytes": events * 100 * (2 if number == 1 else 1), "lost": 0,
                  "aliasing": share, "named_share": 0.9, "contexts": 7, "damages": [], "clean": True, "threads": 1,
                  "stopped_early": 0, "duration_seconds": 1.0, "cpu_seconds": 1.0, "peak_live_bytes": 1000,
                  "end_live_bytes": 10, "allocations": events, "frees": 0, "reallocations": 0,
                  **CONFIG.get("trace", {})},
        "process": {"pid": 1000 + number, "parent_pid": 1, "executable": "/bin/fake", "build_id": "ab12",
                    "argv": ["fake", str(number)], "exit_status": CONFIG.get("exit", 0),
                    "signal": CONFIG.get("signal", 0), "malloc_provider": ""},
    }  # fmt: skip


def subsystem_of(given: dict[str, object]) -> dict[str, object]:
    figure = {"value": 0.5, "kind": "estimated", "absolute": {}}
    unknown = {"value": None, "kind": "measured", "why_null": "no references"}
    legal = bool(given.get("legal"))
    scopes = [
        {"scope": scope, "name": f"{scope}_1", "legal": legal, "legality": "legal" if legal else "illegal",
         "observed": True, "method": "breakpoints", "activations": 3, "calls": 3,
         "outliving": 0 if legal else 12, "total": 20,
         "witnesses": [] if legal else [{"stack": ["<f>", "main"], "thread": 1, "bytes": 24}]}
        for scope in ("thread", "function")
    ]  # fmt: skip
    return {"kind": "class", "named": True, "events": 100, "bytes": 1000, "peak_live_bytes": 500, "W": 1,
            "dvluc": {"D": figure, "V": figure, "U": figure, "C": figure, "L": unknown},
            "legality": scopes, **given}  # fmt: skip


def contexts_of(subsystems: list[str]) -> dict[str, object]:
    """Returns a call tree: main calls the owner of each subsystem, which allocates."""
    nodes = [[0, 0, -1, 0, 0, 0, 0], *([1, i + 1, i, 20, 1000, 2, 100] for i in range(len(subsystems)))]
    functions = ["main", *(f"{name}::make" for name in subsystems)]
    return {"schema": "millpond.contexts/1", "functions": functions, "subsystems": subsystems, "nodes": nodes}


def characterise() -> None:
    fail_if_told("characterise")
    taking_value = ("--json", "--plan-out", "--contexts", "--scopes-out", "--observed")
    words = sys.argv[1:]
    traces = words[words.index("--") + 1 :] if "--" in words else [
        w for i, w in enumerate(words) if not w.startswith("--") and (i == 0 or words[i - 1] not in taking_value)
    ]  # fmt: skip
    if Path(traces[0]).read_text() == "captured":
        Path(option("--json") or "").write_text(json.dumps(CONFIG["references"]))
        return
    summaries = [trace_of(t, int(Path(t).read_text())) for t in traces]
    subsystems = [subsystem_of(s) for s in CONFIG.get("subsystems", [])]
    data: object = summaries
    if "--summary" not in words:
        data = {"schema": "millpond.characterisation/1", **summaries[0], "subsystems": subsystems}
    Path(option("--json") or "").write_text(json.dumps(data))
    contexts = option("--contexts")
    if contexts:
        Path(contexts).write_text(json.dumps(contexts_of([s["name"] for s in subsystems])))
    plans = option("--plan-out")
    for number, s in enumerate(subsystems if plans else []):
        route = {"subsystems": [s["name"]], "pool": s["name"], "strategy": "multipool", "huge_pages": False}
        plan = {"schema": "millpond.plan/1", "program": {"path": "/bin/fake", "build_id": "ab12"}, "routes": [route]}
        Path(plans or "", f"{number:02}-{re.sub(r'[^a-z]+', '-', s['name'])}.plan.json").write_text(json.dumps(plan))
    for number, (function, names) in enumerate(CONFIG.get("arenas", {}).items() if plans else []):
        route = {"subsystems": names, "pool": f"arena of {function}", "strategy": "monotonic", "huge_pages": False,
                 "scope": {"phase": True} if CONFIG.get("phase") else {"function": function}}  # fmt: skip
        plan = {"schema": "millpond.plan/1", "program": {"path": "/bin/fake", "build_id": "ab12"}, "routes": [route]}
        Path(plans or "", f"arena-{number:02}-{function}.plan.json").write_text(json.dumps(plan))


def one_round(variant: str, number: int) -> None:
    fail_if_told("round")
    cpu = CONFIG.get("cpu", {})
    seconds = cpu.get("looked_up" if variant == "plan" else variant, 1.0)
    pools: list[dict[str, object]] = []
    if variant == "plan":
        routes = json.loads(Path(option("--routes") or "").read_text())["routes"]
        named = [name for route in routes for name in route["subsystems"] if name != "*"]
        # In one pool, objects of several subsystems are mixed, so nothing is gained.
        apart = named if len({route["pool"] for route in routes}) == len(named) else []
        for name in [*apart, *(route["pool"] for route in routes if "scope" in route)]:
            seconds *= CONFIG.get("gains", {}).get(name, 1.0)
        pools = [{"pool": pool, "allocations": CONFIG.get("pairs", 0), "capped_live_bytes": 1000, "resets": 7,
                  "calls": CONFIG.get("calls", 0), "outlived_calls": CONFIG.get("outlived_calls", 0),
                  "capped_bytes": CONFIG.get("capped", {}).get(pool, 0)}
                 for pool in dict.fromkeys(route["pool"] for route in routes)]  # fmt: skip
        seconds *= CONFIG.get("together", 1.0) if len(named) > 1 else 1.0
        for name in named if len(named) > 1 else []:
            seconds *= CONFIG.get("with_others", {}).get(name, 1.0)
    peak = CONFIG.get("peak_bytes", 10_000_000) + number % 3
    if variant == "plan":
        for name in named:
            peak *= CONFIG.get("peaks", {}).get(name, 1.0)
    malloc = re.match(r"LD_PRELOAD=/lib/lib(.*)\.so$", option("--set") or "")
    if malloc:
        factors = CONFIG.get("mallocs", {})[malloc[1]]
        seconds, peak = seconds * factors[0], peak * factors[1]
    seconds *= CONFIG.get("builds", {}).get(Path(program()[0]).name, 1.0)
    seconds *= 1.0 + CONFIG.get("noise", 0.003) * random.Random(number).gauss(0.0, 1.0)
    status = CONFIG.get("exit", 0)
    if CONFIG.get("run"):
        with contextlib.ExitStack() as files:
            modes = {"stdin": "rb", "stdout": "wb", "stderr": "wb"}
            given = {n: files.enter_context(Path(option(f"--{n}")).open(modes[n])) for n in modes if option(f"--{n}")}
            status = subprocess.call(program(), **given)
    died = signal.SIGABRT if variant in CONFIG.get("killed", []) else CONFIG.get("signal", 0)
    if status < 0:
        status, died = 0, -status
    result = {"schema": "millpond.round/1", "variant": variant, "cpu_seconds": seconds, "user_seconds": seconds,
              "system_seconds": 0.0, "wall_seconds": seconds, "peak_bytes": peak, "page_faults": 100,
              "major_faults": 0, "exit_status": status, "signal": died,
              "router": {"processes": 0 if CONFIG.get("no_preload") else 1, "pools": pools}}  # fmt: skip
    Path(option("--result") or "").write_text(json.dumps(result))


def check_plan(path: str) -> None:
    """Fakes the reader of plans: it only distinguishes plans from other JSON."""
    fail_if_told("check_plan")
    try:
        plan = json.loads(Path(path).read_text())
        routes = [{"huge_pages": False, **route} for route in plan["routes"]]
        print(json.dumps({"program": plan["program"], "routes": routes}))
    except (OSError, ValueError, KeyError, TypeError):
        print(f"millpond: {path} is not a plan", file=sys.stderr)
        sys.exit(3)


def trial() -> None:
    plan = option("--check-plan")
    if plan is not None:
        check_plan(plan)
        return
    if option("--pair-costs"):
        strategies = ("multipool", "synchronized(multipool)", "monotonic")
        rounds = CONFIG.get("pair_costs") or [CONFIG.get("pair_cost", 0.0)]
        found = {"seconds": dict.fromkeys(strategies, rounds)}
        calls = {name: [CONFIG[name]] if name in CONFIG else [] for name in ("call_seconds", "call_bytes")}
        print(json.dumps(found | calls))
        return
    number = call_number()
    if "--survey" in sys.argv:
        fail_if_told("survey")
        Path(option("--survey") or "").write_text("modules")
    elif "--compile" in sys.argv:
        fail_if_told("compile")
        Path(option("-o") or "").write_text(Path(option("--compile") or "").read_text())
    else:
        one_round(option("--round") or "", number)


def replay() -> None:
    fail_if_told("replay")
    if option("--prepare"):
        plan = Path(option("--plan")).read_text() if option("--plan") else '{"routes": []}'
        Path(option("-o") or "").write_text(plan)
        Path(option("--json") or "").write_text(
            json.dumps({"events": CONFIG.get("events", 0), "peak_live_bytes": 1000})
        )
        return
    number = call_number()
    variant = option("--malloc") or option("--strategy") or ""
    costs = CONFIG.get("replayed", {})
    seconds = costs.get(variant, 1.0)
    for route in json.loads(Path(option("--play") or "").read_text())["routes"]:
        seconds = min([seconds, *(costs.get(name, 1.0) for name in route["subsystems"])])
    seconds = 0.0 if variant == "null" else seconds * (1 + 0.01 * random.Random(number).gauss(0.0, 1.0))
    result = {"cpu_seconds": 0.1 + seconds, "wall_seconds": 0.1 + seconds, "peak_bytes": 5_000_000 + number % 3,
              "end_bytes": 4_000_000, "peak_live_bytes": 1000, "held_bytes": None, "page_faults": 50, "status": "ok",
              "held_why_null": "a malloc", "diffusion": []}  # fmt: skip
    Path(option("--result") or "").write_text(json.dumps(result))


def probe() -> None:
    fail_if_told("probe")
    if "--spin" in sys.argv:
        return
    names = ("time_stamp", "clock", "allocation", "page_fault", "huge_page_fault", "memory_latency")
    costs = {n: {"n": 11, "median": 10.0 * (i + 1), "low": 1.0, "high": 99.0, "unit": "ns", "why_null": None}
             for i, n in enumerate(names)}  # fmt: skip
    latencies = [{"set_bytes": 4096 << i, **costs["clock"], "median": 1.0 + i} for i in range(15)]
    counters = [{"name": "instructions", "available": False, "why_not": "offers no such counter"}]
    ptrace = {"name": "ptrace", "available": True, "why_not": None}
    levels = {
        "page_latencies": [{"pages": 16 << i, **costs["clock"], "median": 1.0 + i} for i in range(11)],
        "caches": [{"level": n + 1, "bytes": 32768 << 5 * n, "ways": 8 << n, "line_bytes": 64} for n in range(2)],
        "translation_buffers": [{"level": 1, "entries": 64, "ways": 4}],
    }
    data = {"schema": "millpond.probe/1", **levels, "costs": costs | CONFIG.get("costs", {}),
            "latencies": latencies, "counters": counters,
            "time_stamp_is_invariant": True, "ptrace": ptrace}  # fmt: skip
    Path(option("--json") or "").write_text(json.dumps(data))


def main(arguments: list[str], here: Path) -> None:
    """Acts as the program that `arguments` name. Returns for status 0, else raises SystemExit."""
    global HERE, CONFIG  # noqa: PLW0603 (one program, one process: or one call at a time in a test)
    HERE, sys.argv = here, arguments
    CONFIG = json.loads((here / "fake.json").read_text())
    programs = {"millpond-record": record, "millpond-characterise": characterise, "millpond-trial": trial,
                "millpond-probe": probe, "millpond-replay": replay, "millpond-trace": list_traces,
                "millpond-references": references}  # fmt: skip
    programs[Path(arguments[0]).name]()


if __name__ == "__main__":
    main(sys.argv, HERE)
