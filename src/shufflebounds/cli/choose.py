"""Which mechanisms and bounds there are, and which mechanism to deploy at a target (ε, δ)."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click

from shufflebounds._version import __version__
from shufflebounds.bounds.ranking import WAYS, Choice, Ranking
from shufflebounds.bounds.ranking import choose as ranked
from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.cli.answers import ends, progress, publish, table_of, without_shuffler
from shufflebounds.cli.deployment import hiding, parameters
from shufflebounds.cli.options import JSON, REAL, WHOLE, Name, Output, command, flag, option
from shufflebounds.core import validation
from shufflebounds.core.enclosure import outward
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.accuracy import Error

# What the local model would have one take, by what is estimated.
_CUSTOMARY = {"values": "oue", "items": "privset", "numbers": "laplace"}
# What was asked, in the order of the JSON.
_ASKED = (
    *("values", "items", "attributes", "n", "colluding", "dropout", "n_reporting", "eps", "delta"),
    *("rounds", "most_bits", "most_eps0", "most_messages"),
)
_BOUNDS = {"tight": "tight", "blanket": "upper", "clone": "stronger_clone"}
_PROOFS = {
    "tight": "the best proven bound of the mechanism itself",
    "blanket": "the upper bound",
    "clone": "what holds of any mechanism with that eps0",
}


@command(
    option("--values", WHOLE, "Number of values, of which a user holds one (or some --items)."),
    click.option(
        "--numbers", is_flag=True, help="Estimate a mean of numbers from -1 to 1 instead."
    ),
    option("--items", WHOLE, "How many different values a user holds.", default=1),
    option("--attributes", WHOLE, "How many such attributes a user has.", default=1),
    "users",
    option(
        "--dropout",
        REAL,
        "Largest share of the other users who do not report, 0 to below 1.",
        default=0.0,
    ),
    "eps",
    "delta",
    "rounds",
    option("--most-bits", REAL, "The most bits that a user may send in a round."),
    option(
        "--most-eps0",
        REAL,
        "The largest eps0 of all that a user sends in a round: what remains if the shuffler "
        "fails. Separate shuffles share it.",
    ),
    option(
        "--most-messages",
        WHOLE,
        "The most messages of a user in a shuffle; more than 1 adds protocols of several messages.",
        default=1,
    ),
    "output",
)
def choose(numbers: bool, dropout: float, output: Output, **asked: Any) -> None:
    """Which mechanism is the most accurate at a target (epsilon, delta)?

    Each mechanism has its best parameters and the largest eps0 that is certified to meet the
    target. They are ranked by the total error of the estimate; docs/accuracy.md explains the table.

    Example: shufflebounds choose --values 256 --n 2e6 --eps 1 --delta 1e-8
    """
    values, n, colluding = asked["values"], asked["n"], asked.pop("colluding")
    if (values is None) != numbers:
        if numbers:
            raise ValueError("--values and --numbers exclude each other: give one of them")
        raise ValueError("Missing option '--values' or '--numbers'.")
    reporting = _reporting(n, colluding, dropout)
    with progress(hidden=output.as_json):
        found = ranked(**{**asked, "n": reporting})
    asked |= {"colluding": colluding, "dropout": dropout, "n_reporting": reporting}
    publish(
        output,
        facts={"version": __version__, **{name: asked[name] for name in _ASKED}, **_plain(found)},
        paragraphs=[_title(asked)],
        table=_table(found, asked),
        meanings=_meanings(found, asked),
        notes=_notes(found, asked),
        bounds=tuple(dict.fromkeys(_BOUNDS[one.proof] for one in found.choices)),
    )


def _reporting(n: int, colluding: int, dropout: float) -> int:
    """The users who report and hide each other."""
    honest = hiding(n, colluding)
    if not 0.0 <= validation.finite("dropout", dropout) < 1.0:
        raise ValueError(f"dropout must be a number with 0 <= dropout < 1, got {dropout!r}")
    reporting = honest - math.ceil(dropout * honest)
    if reporting < 1:
        raise ValueError(f"dropout must leave a user who reports, got {dropout!r}")
    return reporting


def _table(found: Ranking, asked: Mapping[str, Any]) -> list[Sequence[str]]:
    is_mean = found.best.error.values == 1
    columns = {
        "mechanism": [_briefly(one, found) for one in found.choices],
        "messages": [str(one.messages) for one in found.choices],
        "reported": [one.way for one in found.choices],
        "eps0 (natural log)": [outward(one.eps0.lower, up=False) for one in found.choices],
        "in a round": [outward(one.eps0_of_round, up=True, digits=4) for one in found.choices],
        "standard error": [_short(one.error.standard_error) for one in found.choices],
        "in users": [_short(_in_users(one.error)) for one in found.choices],
        "if rare": [_short(one.error.in_users(one.error.rare)) for one in found.choices],
        "squared / curator's": [_short(one.mse.upper / found.curator_mse) for one in found.choices],
        "bits": [_short(one.bits) for one in found.choices],
    }
    said = {
        "messages": asked["most_messages"] > 1,
        "reported": asked["attributes"] > 1,
        "in a round": any(choice.shuffles > 1 for choice in found.choices),
        "in users": not is_mean,
        "if rare": not is_mean,
    }
    return table_of({name: cells for name, cells in columns.items() if said.get(name, True)})


def _in_users(error: Error) -> float:
    return error.in_users(error.standard_error**2)


def _described(choice: Choice) -> str:
    """As other commands take it, such as ``krr --k 16``."""
    given = (f"{flag(name)} {value}" for name, value in choice.parameters.items())
    return " ".join([choice.name, *given])


def _briefly(choice: Choice, found: Ranking) -> str:
    """The same without what all have in common; ``[1]`` is the number of its preparation."""
    values = choice.error.values
    shown = (
        f"{flag(name)} {_short(value) if isinstance(value, float) else value}"
        for name, value in choice.parameters.items()
        if name not in ("domain_size", "items", "domain") and (name, value) != ("k", values)
    )
    prepared = _preparations(found)
    mark = [f"[{prepared.index(choice.preparation) + 1}]"] if choice.preparation else []
    return " ".join([choice.name, *mark, *shown])


def _preparations(found: Ranking) -> list[str]:
    return list(dict.fromkeys(one.preparation for one in found.choices if one.preparation))


def _short(number: float) -> str:
    return f"{number:.3g}" if number < 999.5 or number >= 1e7 else f"{number:.0f}"


def _title(asked: Mapping[str, Any]) -> str:
    what = "numbers" if asked["values"] is None else f"{asked['values']} values"
    if asked["items"] > 1:
        what = f"{asked['items']} of {what}"
    some = f"{asked['attributes']} attributes of " if asked["attributes"] > 1 else ""
    fewer = f" ({asked['n_reporting']} of them hide each other)"
    users = f"n = {asked['n']} users{fewer if asked['n_reporting'] < asked['n'] else ''}"
    rounds = [f"{asked['rounds']} rounds"] if asked["rounds"] > 1 else []
    target = f"target epsilon = {asked['eps']!r}, delta = {asked['delta']!r}"
    return ", ".join([f"{some}{what}", users, *rounds, target])


def _meanings(found: Ranking, asked: Mapping[str, Any]) -> dict[str, str]:
    best, clone = found.best, found.by_clone
    task = "numbers" if asked["values"] is None else "values"
    task = "items" if asked["items"] > 1 else task
    curator = math.sqrt(found.curator_mse / best.error.values)
    prepared = _preparations(found)
    after = f" after [{prepared.index(best.preparation) + 1}]" if best.preparation else ""
    eps0, allowed = (outward(one.eps0.lower, up=False) for one in (best, clone))
    whom = "" if clone.name == best.name else f"{_briefly(clone, found)} at "
    way = f", {WAYS[best.way]}," if asked["attributes"] > 1 else ""
    each = " in each" if best.shuffles > 1 else ""
    said = {
        "best": f"{_described(best)}{after}{way} at eps0 = {eps0}{each}, certified by "
        f"{_PROOFS[best.proof]}; you can deploy it if you trust the shuffler.",
        **without_shuffler(best.eps0_of_round, asked["rounds"], best.eps0.lower),
        "curator": f"a trusted curator who adds Gaussian noise has a standard error of "
        f"{_short(curator)}.",
        "by eps0 alone": f"the stronger clone allows {whom}eps0 = {allowed}, with "
        f"{_short(clone.mse.upper / best.mse.upper)} times the squared error.",
    }
    usual = next((one for one in found.choices if one.name == _CUSTOMARY[task]), best)
    if usual is not best:
        said["customary"] = (
            f"{_briefly(usual, found)}, which the local model favors, has "
            f"{_short(usual.mse.upper / best.mse.upper)} times the squared error of the best."
        )
    return said


def _notes(found: Ranking, asked: Mapping[str, Any]) -> list[str]:
    one = "The standard error is that of one round"
    if asked["values"] is None:
        meaning = f"{one}, in the worst case over the users' numbers."
    else:
        meaning = (
            f"{one}: of a value's share of the users, the root mean square over all values, and of "
            'their number; "if rare", of a value that nobody holds. Mechanisms are ranked by the '
            "squared error summed over all values."
        )
    notes = [f"{meaning} eps0 does not rank them: the same eps0 is another error for each."]
    if prepared := _preparations(found):
        listed = "; ".join(f"[{i}] {text}" for i, text in enumerate(prepared, start=1))
        notes.append(f"Preparation by each user: {listed}.")
    if asked["attributes"] > 1:
        ways = ", ".join(f"{way} ({meaning})" for way, meaning in WAYS.items())
        notes.append(
            f"Attributes can be reported in three ways, {ways}. Errors are of one attribute, bits "
            "of all that a user sends in a round, and eps0 of all that a user sends in a shuffle. "
            "One attribute at random asks a sample of the users on each, and the error of sampling "
            "them is part of the squared error."
        )
    if asked["most_messages"] > 1:
        notes.append(
            "Of several messages, one depends on what the user holds, after flips that make it "
            "eps0-LDP (at 200 there are none); the others, blankets, do not. Bits are of all of "
            "them, and their bound takes the other users' values for known."
        )
    if asked["n_reporting"] < asked["n"]:
        notes.append(
            f"Users who collude or do not report hide nobody: privacy and errors are those of "
            f"{asked['n_reporting']} reports, and shares are of the users who send them."
        )
    if asked["rounds"] > 1:
        notes.append(
            f"All {asked['rounds']} rounds together meet the target; eps0 is that of one round, or "
            "of one of its shuffles."
        )
    # The share of users that a value has on average; of numbers, half of their range.
    if found.best.error.standard_error >= asked["items"] / found.best.error.values:
        notes.append(
            "No mechanism here is of use for this target: the best is off by as much as what it "
            "estimates."
        )
    return notes


def _plain(found: Ranking) -> dict[str, Any]:
    values = found.best.error.values
    return {
        "curator": {
            "mse": found.curator_mse,
            "standard_error": math.sqrt(found.curator_mse / values),
        },
        "choices": [_facts(choice) for choice in found.choices],
        "by_eps0_alone": _facts(found.by_clone),
    }


def _facts(choice: Choice) -> dict[str, Any]:
    error = choice.error
    return {
        "mechanism": choice.name,
        "parameters": dict(choice.parameters),
        "way": choice.way,
        "preparation": choice.preparation,
        "proof": choice.proof,
        "eps0": ends(choice.eps0),
        "eps0_of_report": choice.randomizer.eps0,
        "eps0_of_round": choice.eps0_of_round,
        "shuffles": choice.shuffles,
        "mse": ends(choice.mse),
        "standard_error": error.standard_error,
        "standard_error_in_users": _in_users(error),
        "standard_error_if_rare_in_users": error.in_users(error.rare),
        "bits": choice.bits,
        "messages": choice.messages,
    }


# What there is.


@click.command()
@click.argument("name", required=False, type=Name(registry.mechanism_names()))
@JSON
def mechanisms(name: str | None, as_json: bool) -> None:
    """Which mechanisms are there? With a NAME, explain one.

    Example: shufflebounds mechanisms krr
    """
    listed = [_mechanism(one) for one in ([name] if name else registry.mechanism_names())]
    if as_json:
        click.echo(json.dumps(listed, indent=2, allow_nan=False))
        return
    width = max(len(mechanism["name"]) for mechanism in listed)
    for mechanism in listed:
        click.echo(f"{mechanism['name']:{width}}  {mechanism['description']}")
        for parameter, facts in mechanism["parameters"].items():
            usage = "required" if facts["required"] else "optional"
            named = f"{flag(parameter)} {facts['type'].upper()}, {usage}"
            click.echo(f"{'':{width}}    {named}: {facts['help']}".removesuffix(": "))
    if name:
        needed = [p for p, facts in listed[0]["parameters"].items() if facts["required"]]
        own = "".join(f" {flag(p)} …" for p in needed)
        takes_eps0 = "eps0" in inspect.signature(registry.mechanism(name)).parameters
        eps0 = " --eps0 …" if takes_eps0 else ""
        click.echo(f"\n{_explanation(name)}\n")
        click.echo(f"shufflebounds epsilon --mechanism {name}{own}{eps0} --n … --delta …")


@click.command()
@JSON
def bounds(as_json: bool) -> None:
    """Which bounds are there, and who proved them?"""
    listed = [
        {
            "name": bound.name,
            "kind": bound.kind.value,
            "description": bound.label,
            "needs": "the mechanism" if bound.knows_mechanism else "eps0 alone",
            "quantities": list(bound.quantities),
            "source": bound.source,
        }
        for bound in BOUNDS.values()
    ]
    if as_json:
        click.echo(json.dumps(listed, indent=2))
        return
    width = max(len(name) for name in BOUNDS)
    for bound in listed:
        click.echo(f"{bound['name']:{width}}  {bound['description']} ({bound['kind']})")
        quantities = " and ".join(bound["quantities"])
        click.echo(f"{'':{width}}    of {quantities}, knows {bound['needs']}: {bound['source']}")


# For terminals that show no other characters.
_PLAIN = {"ε₀": "eps0", "≥": ">=", "−": "-", "``": ""}


def _explanation(name: str) -> str:
    """What its class says of it, without what it raises and the sections of numpydoc."""
    about = inspect.getdoc(registry.mechanism(name)) or ""
    return re.split(r"\n\n\w+\n-{3,}\n|\n\nRaises ", about, maxsplit=1)[0].strip()


def _mechanism(name: str) -> dict[str, Any]:
    found = registry.mechanism(name)
    listed = {
        parameter: {
            "type": one.type.__name__,
            "required": one.is_required,
            "default": one.default,
            "help": one.help,
        }
        for parameter, one in parameters(name).items()
    }
    description = (found.__doc__ or name).strip().splitlines()[0]
    for symbol, plain in _PLAIN.items():
        description = description.replace(symbol, plain)
    return {"name": name, "description": description, "parameters": listed}
