"""The files of the papers, joined to the configuration that Snakemake has read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from shufflebounds.experiments.configuration import yaml_files

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def join(config: dict[str, Any], folder: Path, *, override: bool) -> None:
    """Put the content of config/<paper>.yaml under the paper's name in `config`.

    What is there already, from another file or from the command line, is merged into it and wins
    (`override`), or takes its place. Raises ConfigError for a file that may not be loaded.
    """
    papers = config.get("papers")
    for name in papers if isinstance(papers, list) else []:
        file = folder / f"{name}.yaml"
        # Whatever is not the name of a file in this folder is refused when it is checked.
        if file.parent != folder or not file.is_file() or (name in config and not override):
            continue
        yaml_files.check(file, f"config/{file.name}")
        content = _LOADER(file.read_text(encoding="utf-8")).get_single_data()
        config[name] = _merged(content, config.get(name, {}))


def _merged(below: Any, above: Any) -> Any:
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}
