"""`import cyzarr.auto` switches cyzarr on."""

from cyzarr.activate import enable

enable()
