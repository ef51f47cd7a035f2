"""JSON schemas of config.yaml and of the papers' files, from their models, for editors.

``python -m shufflebounds.reproduce.configuration.schema docs`` writes them into the folder docs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from shufflebounds.bounds.registry import BOUNDS
from shufflebounds.core.setting import NAMES
from shufflebounds.reproduce.configuration.models import PaperEntry, RootEntry
from shufflebounds.reproduce.storage import write_text

MODELS: dict[str, type[BaseModel]] = {
    "config.schema.json": RootEntry,
    "paper.schema.json": PaperEntry,
}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def text(model: type[BaseModel]) -> str:
    """The schema of a model's file."""
    schema = _for_editors(model.model_json_schema())
    definitions = schema.get("$defs", {})
    # What depends on the library, and the models leave to `checks`.
    if "CurveEntry" in definitions:
        definitions["CurveEntry"]["properties"]["bound"]["enum"] = list(BOUNDS)
    for entry in (schema, definitions.get("ExperimentEntry", {})):
        if "x" in entry.get("properties", {}):
            entry["properties"]["x"] |= {
                "propertyNames": {"enum": list(NAMES)},
                "minProperties": 1,
                "maxProperties": 1,
            }
    return json.dumps({"$schema": _DIALECT, **schema}, indent=2, ensure_ascii=False) + "\n"


def _for_editors(fragment: Any) -> Any:
    """A fragment in JavaScript's regular expressions, and without null: no key may be empty."""
    if isinstance(fragment, str):
        return fragment.replace(r"\z", "$")
    if isinstance(fragment, list):
        return [_for_editors(one) for one in fragment if one != {"type": "null"}]
    if not isinstance(fragment, dict):
        return fragment
    kept = {_for_editors(k): _for_editors(v) for k, v in fragment.items() if not _is_ours(k, v)}
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    if len(kept.get("anyOf", ())) == 1:
        kept = kept.pop("anyOf")[0] | kept
    return kept


def _is_ours(key: str, value: Any) -> bool:
    """Whether a key of a schema says nothing to an editor; a property may be called title."""
    return (
        key == "x-allowed"
        or (key == "title" and isinstance(value, str))
        or (key == "default" and (value is None or isinstance(value, dict)))
    )


def main() -> None:
    """Write the schemas into the folder that the command line names."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m shufflebounds.reproduce.configuration.schema FOLDER")
    for name, model in MODELS.items():
        write_text(text(model), Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()
