"""Options that describe what users send, and the commands that have them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import click
from click.core import ParameterSource

from shufflebounds.cli.options import (
    N_UNLESS_FIXED,
    PARAMETERS,
    SENDER,
    SENT,
    USERS,
    Argument,
    command,
    number_option,
    option,
)
from shufflebounds.cli.parameters import (
    count_parameters,
    flag,
    own_counts,
    parameters,
    protocols,
    words_of,
)
from shufflebounds.cli.reply import Reply
from shufflebounds.cli.scenario import Scenario, missing_option
from shufflebounds.cli.values import NumberType, SenderName
from shufflebounds.core import validation
from shufflebounds.core.number import Real, Whole, number_in
from shufflebounds.core.setting import Setting
from shufflebounds.protocols.registry import PROTOCOLS, GroupsDescription, ProtocolDescription
from shufflebounds.randomizers import registry
from shufflebounds.randomizers.description import (
    SYNONYMS,
    Description,
    parse,
)

# Compositions whose parts are options, and what the number before each of them is.
COMPOSITIONS_OF_PARTS = {"joint": "share", "parallel": "weight"}
# The protocol that may be named as a mechanism.
ANY = "any"
# Options that describe a deployment.
DEPLOYMENT_OPTIONS = (*("k_joint", "rate", "cohort", "eps0"), *USERS, "rounds", "also")
# Types of options, by those of parameters; all others are texts.
OPTION_TYPES: Mapping[type, click.ParamType] = {
    int: NumberType(Whole()),
    float: NumberType(Real()),
    Fraction: NumberType(Real(ge=0.0, le=1.0), takes_fractions=True),
}
# Options that groups of users do not have, and why.
NOT_FOR_GROUPS = {
    **dict.fromkeys(
        ("part", "k_joint", "rate", "cohort"), "each --group has a mechanism of its own"
    ),
    "dropout": "the numbers of users in --group are those who report for certain",
    "colluding": "the numbers of users in --group are those who provide cover for certain",
    "also": "--group has the numbers of users of all rounds",
}

PART = option(
    "--part",
    str,
    "A part of joint, which sends a report of each together, or of parallel, which draws one: its "
    "share of eps0 or weight, mechanism and parameters, '0.5 krr k=10'. Repeat it for each.",
    multiple=True,
    metavar="TEXT",
    section=SENT,
)
GROUP = option(
    "--group",
    str,
    "Users with a mechanism of their own in one shuffle with other groups, '4000 krr k=12 "
    "eps0=.5', in place of MECHANISM and -n. Repeat it for each.",
    multiple=True,
    metavar="TEXT",
    section=SENT,
)
VICTIM = number_option(
    Whole("victim", "Ask about members of one --group only: 1 is the first", ge=1, symbol="G"),
    section=SENT,
)
LINKED = [
    number_option(number, section=SENT)
    for number in (validation.K_JOINT, validation.RATE, validation.COHORT)
]


def question(
    *options: str | click.Parameter, sought: str = "", sender: str | None = None, **settings: Any
) -> Callable[[Callable[..., Reply]], click.Command]:
    """Make a command about users: with `options`, and those that describe what users send.

    The function gets a `Scenario` in place of the options that describe one. The command finds
    the parameter that is `sought`, if it is one. Without a name, it is about the `sender`.
    """
    owners = [*registry.mechanism_names(), *protocols()]
    own_options = _options_of(owners)
    for name in (sought, *DEPLOYMENT_OPTIONS):
        own_options.pop(name, None)
    names = {x if isinstance(x, str) else x.name for x in options}
    listed = (N_UNLESS_FIXED if each == "n" else each for each in options)

    def decorate(answer: Callable[..., Reply]) -> click.Command:
        def ask(**given: Any) -> Reply:
            scenario = _scenario(given, own_options, names, sender)
            if "n" in options and scenario.n is None:
                name = own_counts(scenario.mechanism.type).get("n", "n")
                raise ValueError(f"Missing option '{flag(name)}'.")
            return answer(scenario, **given)

        ask.__name__, ask.__doc__ = answer.__name__, answer.__doc__
        return command(
            *_name_parameters([*registry.mechanism_names(), *COMPOSITIONS_OF_PARTS, *protocols()]),
            *listed,
            *(*LINKED, PART, GROUP, VICTIM),
            *(
                # The help lists those of what is named, by `Command.named_owners`.
                option(flag(x), _option_type(own_options[x]), "", section=PARAMETERS, hidden=True)
                for x in own_options
            ),
            owners=owners,
            **settings,
        )(ask)

    return decorate


def _scenario(
    given: dict[str, Any],
    own_options: Collection[str],
    options: Collection[str],
    sender: str | None,
) -> Scenario:
    """Return what a question is about, and take its options out of those that are given.

    The command has ``own_options`` of mechanisms and protocols, and further ``options``.
    """
    taken = _taken(given, own_options)
    own = {name: value for name, value in taken.items() if value is not None}
    users = _taken(given, DEPLOYMENT_OPTIONS)
    named = [x for x in _taken(given, (SENDER, "mechanism", "protocol")).values() if x]
    part, group, victim = (given.pop(name) for name in ("part", "group", "victim"))
    if group:
        return _groups(group, victim, [*named, *map(flag, own)], users)
    if victim is not None:
        raise ValueError("--victim must be left out: it is the number of a --group")
    name = _name_of_sender(named, own, sender)
    users |= _counts(name, options, own)
    if "rate" in parameters(name) and _is_given("rate"):
        own["rate"] = users.pop("rate")
    return _deployment(name, part, own, users)


def _is_given(name: str) -> bool:
    """Return whether an option is on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def _counts(name: str, options: Collection[str], own: dict[str, Any]) -> dict[str, int]:
    """Return the counts for which a sender has names of its own, taken out of its options.

    Raises ValueError for a count by the name of other senders, and for one that is sought.
    """
    settings = {}
    for key, count in own_counts(name).items():
        if key in options and _is_given(key):
            why = f"; the number of {words_of(name).person}s does not matter" if key == "n" else ""
            raise ValueError(f"{flag(key)} must be left out: {name} has {flag(count)}{why}")
        if count in own:
            if key not in options:
                raise ValueError(f"{flag(count)} must be left out: that is what this command finds")
            settings[key] = own.pop(count)
    return settings


def _options_of(owners: Iterable[str]) -> dict[str, type]:
    """Return the types of the parameters of all owners by name; text where they differ."""
    types: dict[str, type] = {}
    for owner in owners:
        for name, parameter in {**parameters(owner), **count_parameters(owner)}.items():
            known = types.setdefault(name, parameter.type)
            types[name] = known if known is parameter.type else str
    return types


def _taken(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of the options that are `given` by these names, and remove them there."""
    return {name: given.pop(name) for name in names if name in given}


def _name_parameters(names: Sequence[str]) -> list[click.Parameter]:
    """Return the argument that names a mechanism or a protocol, and the options that also do."""
    type_ = SenderName(names)
    argument = Argument(
        [SENDER],
        type=type_,
        required=False,
        metavar="MECHANISM",
        meaning="A mechanism or protocol, such as krr; `shufflebounds mechanisms` lists them. "
        "Options such as --k 10 set its parameters: `krr -h` lists those of krr.",
    )
    flags = ("-m --mechanism", "--protocol")
    return [argument, *(option(each, type_, "", hidden=True) for each in flags)]


def _name_of_sender(names: Sequence[str], own: Mapping[str, Any], default: str | None) -> str:
    """Return the name of the mechanism or protocol, which must be given once."""
    if len(names) > 1:
        raise ValueError(f"give one mechanism or protocol, got {' and '.join(names)}")
    if names or default:
        return names[0] if names else str(default)
    for owner in filter(own_counts, protocols()):
        if own and {*own} <= {*parameters(owner), *count_parameters(owner)}:
            belongs = f"to which {flag(next(iter(own)))} belongs"
            raise ValueError(f"Missing argument, such as '{owner}', {belongs}.")
    listed = "`shufflebounds mechanisms` lists the names."
    raise ValueError(f"Missing argument 'MECHANISM', such as krr; {listed}")


def _deployment(
    name: str, parts: tuple[str, ...], own: dict[str, Any], users: Mapping[str, Any]
) -> Scenario:
    """Return the deployment; ValueError for an option that is missing, wrong or of no use."""
    if parts and name not in COMPOSITIONS_OF_PARTS:
        raise ValueError(f"--part must be left out: joint and parallel have parts, not {name}")
    if name not in PROTOCOLS:
        return Scenario(mechanism=_mechanism(name, own, parts), **users)
    reason = f"it needs a named mechanism, and {name} is not one"
    _require_left_out({x: reason for x in ("k_joint", "rate", "cohort") if x in users})
    needs = PROTOCOLS[name].needs
    content = _own_content(name, own)
    settings = {key: content.pop(key) for key in needs if key in content}
    del content["type"]
    protocol = ProtocolDescription(name, tuple(content.items()))
    return Scenario(mechanism=protocol, **settings, **users)


def _groups(
    texts: Sequence[str], victim: int | None, named: Sequence[str], users: Mapping[str, Any]
) -> Scenario:
    """Return the deployment of groups; ValueError for an option that is wrong or of no use."""
    _require_left_out(NOT_FOR_GROUPS)
    if named:
        raise ValueError(f"{named[0]} must be left out: each --group has a mechanism of its own")
    if "n" not in users:
        raise ValueError("--group must be left out: it fixes the number of users")
    groups = [_group_content(text) for text in texts]
    chosen = {} if victim is None else {"victim": victim}
    described = GroupsDescription.parse({"groups": groups, **chosen})
    described.protocol(Setting())
    total = sum(size for size, _ in described.groups)
    if users["n"] not in (None, total):
        raise ValueError(f"--n must be {total}, the sum of all groups, got {users['n']}")
    return Scenario(mechanism=described, **{**users, "n": total})


def _group_content(text: str) -> dict[str, Any]:
    """Return a group such as ``4000 krr k=12 eps0=.5`` as configurations have it."""
    form = "a number of users, a mechanism and its parameters, such as '4000 krr k=12 eps0=.5'"
    size, *words = text.split() or [""]
    users = number_in(size)
    if not isinstance(users, int):
        raise ValueError(f"--group must be {form}, got {text!r}")
    mechanism = _named_content("--group", text, words, form)
    if not parse(mechanism).has_own_eps0:
        raise ValueError(f"--group {text!r}: eps0 is missing; each group must have its own")
    return {"users": users, "mechanism": mechanism}


def _require_left_out(reasons: Mapping[str, str]) -> None:
    """Raise ValueError if one of these options was typed."""
    for name, reason in reasons.items():
        if _is_given(name):
            raise ValueError(f"{flag(name)} must be left out: {reason}")


def _mechanism(name: str, own: Mapping[str, Any], parts: tuple[str, ...]) -> Description:
    """Return the mechanism; reads the files that it names."""
    content = _own_content(name, own)
    if name in COMPOSITIONS_OF_PARTS and not parts:
        raise ValueError(f"Missing option '--part' of {name}, to be given once for each part.")
    if parts:
        content["parts"] = [_part_content(text, name) for text in parts]
    return parse(content)


def further_mechanism(text: str) -> Description:
    """Return a mechanism such as ``krr k=20`` of ``--versus``."""
    form = "a mechanism and its parameters, such as 'krr k=20'"
    return parse(_named_content("--versus", text, text.split(), form))


def _own_content(name: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with the options of a mechanism or protocol, of which none is missing."""
    takes, content = parameters(name), _mechanism_content(name, own.items())
    for key in content:
        if key not in takes and key != "type":
            listed = ", ".join(map(flag, takes)) or "none"
            raise ValueError(f"{flag(key)} is not an option of {name}; its own options: {listed}")
    # What is missing of the settings of protocols is known later: a question may seek one.
    settings = PROTOCOLS[name].needs if name in PROTOCOLS else ()
    for key, parameter in takes.items():
        if parameter.is_required and key not in content and key not in settings:
            raise ValueError(missing_option(name, key))
    return content


def _mechanism_content(name: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return a mechanism as configurations have it, with pairs of a parameter and its value."""
    takes, content = parameters(name), {"type": name}
    for key, value in pairs:
        known = SYNONYMS[key] if SYNONYMS.get(key) in takes else key
        type_ = _option_type(takes[known].type) if known in takes else None
        if isinstance(value, str) and isinstance(type_, NumberType):
            value = type_.read(value, known)
        if known in content:
            raise ValueError(
                f"{flag(known)} of {name} is given twice; --k and --domain-size mean the same"
            )
        content[known] = value
    return content


def _part_content(text: str, composition: str) -> dict[str, Any]:
    """Return a part such as ``0.5 krr k=10`` of a composition, as configurations have it."""
    number, words = COMPOSITIONS_OF_PARTS.get(composition, "share"), text.split()
    # A joint gives equal shares to parts that begin with the mechanism.
    has_number = bool(words) and (number == "weight" or not words[0].isidentifier())
    form = f"a {number}, a mechanism and its parameters, such as '0.5 krr k=10'"
    try:
        first = {number: float(words[0])} if has_number else {}
    except ValueError:
        raise ValueError(f"--part must be {form}, got {text!r}") from None
    return {**first, "mechanism": _named_content("--part", text, words[len(first) :], form)}


def _named_content(flag_: str, text: str, words: Sequence[str], form: str) -> dict[str, Any]:
    """Return the mechanism that words of an option name, as configurations have it.

    ``text`` is the value of the option, which must have the ``form``.
    """
    try:
        name, *given = words
        pairs = [(key.replace("-", "_"), value) for key, value in (x.split("=") for x in given)]
    except ValueError:
        raise ValueError(f"{flag_} must be {form}, got {text!r}") from None
    if flag_ == "--versus" and "eps0" in dict(pairs):
        raise ValueError(f"{flag_} {text!r}: eps0 must be left out: it follows from --eps0")
    if flag_ == "--versus" and name.lower() == ANY:
        raise ValueError(f"{flag_} {text!r}: any is not a mechanism; see --bound stronger_clone")
    try:
        own_eps0 = {key: validation.EPS0.parse(x) for key, x in pairs if key == "eps0"}
        return parse(_mechanism_content(name.lower(), pairs) | own_eps0).plain()
    except ValueError as error:
        raise ValueError(f"{flag_} {text!r}: {error}") from None


def _option_type(type_: type) -> click.ParamType:
    """Return the type of the option of a parameter."""
    return OPTION_TYPES.get(type_, click.STRING)
