"""``python -m shufflebounds.cli``."""

from shufflebounds.cli import main

main(prog_name="shufflebounds")
