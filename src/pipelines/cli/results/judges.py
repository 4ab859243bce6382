"""`pipelines judges`: how far judge models agree with people, and where two of them differ."""

from typing import Any

from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import new_console, print_block
from pipelines.cli.output.phrases import percent, plural

MOST_SHOWN = 50
NONE = "No judge model has read a run yet: set PIPELINES_JUDGE_MODEL, or pipelines rejudge BATCH --model NAME"


def show_judges(server: Server, batch_id: int | None, compared: tuple[str, str] | None) -> Answer:
    if batch_id is None:
        path, show = "/api/judges/calibration", _print_calibration
    elif compared is None:
        path, show = f"/api/batches/{batch_id}/judges", _print_batch
    else:
        path, show = f"/api/batches/{batch_id}/judges/compare", _print_comparison
    query = {} if compared is None or batch_id is None else {"first": compared[0], "second": compared[1]}
    return Answer(server.get(path, **query), lambda found: show(new_console(), found))


def _print_calibration(console: Console, found: Any) -> None:
    if not found["items"]:
        print_block(console, "", NONE, indent=0)
    for judge in found["items"]:
        print_block(console, judge["judge"], calibration_words(judge))


def calibration_words(judge: Any) -> str:
    """`κ 0.81 (0.62 to 0.99); agrees with people on 90 % of 20 passes …`, or how many runs it still needs."""
    if judge["status"] != "calibrated":
        needed = f"people decided {judge['labels']} of the {judge['labels_needed']} runs needed"
        return f"uncalibrated: {needed}"
    rates = (("passes", judge["true_positive_rate"]), ("fails", judge["true_negative_rate"]))
    agrees = [f"{percent(rate['rate'])} of {rate['runs']} {what}" for what, rate in rates if rate is not None]
    return f"{_format_kappa(judge['agreement'])}; agrees with people on {' and '.join(agrees)}"


def _print_batch(console: Console, found: Any) -> None:
    if not found["items"]:
        print_block(console, "", NONE, indent=0)
    for judge in found["items"]:
        cost = f", ${judge['cost_usd']:.4f}" if judge["cost_usd"] else ""
        failed = f", {judge['failed']} without an answer" if judge["failed"] else ""
        pending = f", {judge['wanted']} to come" if judge["wanted"] else ""
        print_block(console, judge["judge"], f"{plural(judge['runs'], 'run')}{failed}{pending}{cost}")


def _print_comparison(console: Console, found: Any) -> None:
    text = f"{plural(found['runs'], 'run')} read by both, {found['agreed']} judged alike"
    kappa = f"; {_format_kappa(found['agreement'])}" if found["agreement"] else ""
    print_block(console, "", text + kappa, indent=0)
    for each in found["disagreements"][:MOST_SHOWN]:
        first, second = (_format_verdict(each[side]) for side in ("first", "second"))
        print_block(console, f"run {each['run_id']}", f"{first} | {second}")


def _format_kappa(agreement: Any) -> str:
    if agreement["kappa"] is None:
        return str(agreement["note"])
    low, high = agreement["interval"] or (None, None)
    between = f" ({low:.2f} to {high:.2f})" if low is not None else ""
    return f"κ {agreement['kappa']:.2f}{between}"


def _format_verdict(verdict: Any) -> str:
    mode = f" ({verdict['failure_mode']})" if verdict["failure_mode"] else ""
    return f"{verdict['verdict']}{mode}"
