"""The console of all commands: it prints texts as they are, whoever has written them."""

import os
from typing import Any

from rich.console import Console
from rich.text import Text
from typing_extensions import override

from tinysplit.common.texts.quoting import printable_lines
from tinysplit.settings.setting import Face, as_option, worded

WITHOUT_END = 10_000  # columns of a pipe or a file


class PlainConsole(Console):
    """A console for which no text has markup, codes of emoji, or characters that control the terminal.

    Settings in texts have their names of `face`. Lines of pipes and files are as long as what they say, unless COLUMNS
    asks for another width.

    Styles are options of `print`, or those of a `Text`, whose characters have to be printable.
    """

    def __init__(self, face: Face = as_option, **options: Any) -> None:  # noqa: ANN401 (those of rich)
        super().__init__(markup=False, emoji=False, **options)
        self._face = face
        if not (self.is_terminal or "width" in options or "COLUMNS" in os.environ):
            self.width = WITHOUT_END

    @override
    def render_str(self, text: str, **options: Any) -> Text:
        """Return what is printed: rich calls this for all strings, those of tables, too."""
        return super().render_str(printable_lines(worded(text, self._face)), **options)
