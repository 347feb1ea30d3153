"""The commands that learn before ELYSIUM is in charge: `penstock profile` and `penstock tune`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from penstock.service.options import Duration, Json, Load, Out, Seed, Trigger

Name = Annotated[str, typer.Argument(metavar="APP", help="Application (see 'penstock apps').")]


def profile(
    application: Name,
    load: Load = "stair",
    check_load: Annotated[str, typer.Option(help="Load of a second run, by which the models are judged.")] = "sine",
    duration: Annotated[
        float | None, typer.Option(help="Seconds of each of the two runs (default: 1800, live 300).")
    ] = None,
    seed: Seed = 0,
    execution: Annotated[
        str | None, typer.Option(help="'fused' or 'pipelined' (default: pipelined, live fused).")
    ] = None,
    initial: Annotated[
        str,
        typer.Option(help="'largest', or 'smallest' for one instance of each operator, if that can carry the load."),
    ] = "largest",
    live: Annotated[bool, typer.Option("--live", help="On Spark, in real time, instead of simulated.")] = False,
    workers: Annotated[int, typer.Option(help="Executors of a live run.")] = 4,
    master: Annotated[str | None, typer.Option(help="Spark master of a live run, if not a private one.")] = None,
    trigger: Trigger = 0.5,
    step: Annotated[float, typer.Option(help="Seconds of one step in which the load is forecast.")] = 60.0,
    history: Annotated[
        str | None,
        typer.Option(
            help="What the load has been so far, such as 'trace:FILE.csv': forecasts are learned from it instead of "
            "from the run, and runs with these models go on where it ends."
        ),
    ] = None,
    history_steps: Annotated[
        int | None, typer.Option(min=1, help="Steps of the history (default: all of a trace, 200 of another load).")
    ] = None,
    load_only: Annotated[
        bool, typer.Option("--load-only", help="Learn the load from its history and nothing else; nothing is run.")
    ] = False,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Learn what an application costs from a run under a varying load, and keep it for 'elysium' (see --models)."""
    from penstock.errors import UsageError
    from penstock.service import show
    from penstock.service.profile import ProfileRequest, history_of, live_source, profile_load, simulated_source
    from penstock.service.profile import profile as learn
    from penstock.service.runs import open_folder

    lasts_s = (300.0 if live else 1800.0) if duration is None else duration
    how = execution or ("fused" if live else "pipelined")
    request = ProfileRequest(
        application,
        load,
        lasts_s,
        seed,
        how,
        check_load,
        live,
        trigger_s=trigger,
        step_s=step,
        history=history,
        history_steps=history_steps,
        initial=initial,
    )
    past = history_of(request)
    if load_only and past is None:
        raise UsageError("There is nothing to learn the load from; give --history, or leave out --load-only.")
    os.environ.setdefault("MPLCONFIGDIR", str(open_folder(out) / ".cache"))
    if load_only and past is not None:
        with show.working(f"Learning how the load of {application} goes on"):
            result = profile_load(request, past, out)
    elif live:
        result = learn(request, live_source(request, out, workers, master), out, past)
    else:
        with show.working(f"Profiling {application} under {load} for {lasts_s:g} s, simulated"):
            result = learn(request, simulated_source(request), out, past)
    if as_json:
        show.print_json(result.as_json())
    else:
        judged = f"{application} under {load}, judged by a run under {check_load}"
        title = f"the load of {application}" if load_only else judged
        headings = ("what", "of", "learned", "error", "2nd run")
        show.print_table(headings, result.rows(), title, right=(3, 4))
    show.say(f"Models: {result.library}")
    if result.report is not None:
        show.say(f"Report: {result.report}")


def tune(
    application: Name,
    threshold: Annotated[str, typer.Option(help="Threshold of 'elysium' to learn: cpu_max or core_max.")] = "cpu_max",
    load: Load = "sine",
    duration: Duration = 1800.0,
    costs: Annotated[
        str,
        typer.Option(help="What a change costs: 'hot' as on Spark, 'restart' of the whole application as on Storm."),
    ] = "hot",
    steps: Annotated[int, typer.Option(help="Steps of Q-learning.")] = 100,
    seeds: Annotated[int, typer.Option(help="Different runs with which every candidate is tried.")] = 3,
    seed: Seed = 0,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Learn a threshold of 'elysium' by Q-learning: the highest one that costs the least throughput."""
    from penstock.service import show
    from penstock.service.runs import open_folder
    from penstock.service.tune import TuneRequest, table_rows, write_page
    from penstock.service.tune import as_json as plain_values
    from penstock.service.tune import tune as learn

    request = TuneRequest(application, threshold, load, duration, costs, steps, seeds, seed)
    os.environ.setdefault("MPLCONFIGDIR", str(open_folder(out) / ".cache"))
    with show.working(f"Tuning {threshold} for {application} under {load}") as say:
        learned = learn(request, say)
    if as_json:
        show.print_json(plain_values(request, learned))
    else:
        headings = (threshold, "reward", "throughput degradation", "trials")
        show.print_table(headings, table_rows(request, learned), f"{application} under {load}", right=(1, 2, 3))
    show.say(f"Use it as --policy elysium:{threshold}={learned.best:g}\nReport: {write_page(request, learned, out)}")
