"""The error that a mistake in a configuration raises."""


class ConfigError(ValueError):
    """A mistake in a configuration, in one sentence that names the file, the key and the value."""
