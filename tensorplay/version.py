"""The version of the project; the build reads it from here."""

__version__ = "2.0.0.dev0"
