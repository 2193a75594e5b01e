"""Pages in a headless browser without a network."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIME_LIMIT_S = 120
LAYOUT_SCRIPT = Path(__file__).with_name("layout.js")


def page_in_browser(page: Path, profile: Path) -> str:
    """Return the HTML of a page once its scripts have run; nothing may be written to the console.

    Skips the test where no browser is installed. `profile` is a new folder for the browser.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom")
    offline = ("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}")
    command = [browser, *options, *offline, page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIME_LIMIT_S)
    assert not [line for line in shown.stderr.splitlines() if "CONSOLE" in line]
    return shown.stdout


def layout_in_browser(page: Path, widths: Sequence[int], folder: Path) -> dict[int, list[str]]:
    """Return what is wrong with the layout of a page at each width in CSS pixels, as `layout.js` finds it.

    The page is shown in frames of these widths: a window of a browser may have a least width. `folder` is for files of
    this function.
    """
    shown = html.escape(page.read_text(encoding="utf-8"))
    sizes = [f"border:0;width:{width}px;height:900px" for width in widths]
    frames = "".join(f'<iframe style="{size}" srcdoc="{shown}"></iframe>' for size in sizes)
    script = f"<pre id=found></pre><script>{LAYOUT_SCRIPT.read_text(encoding='utf-8')}</script>"
    around = folder / "frames.html"
    around.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{frames}{script}</body>", encoding="utf-8")
    (found,) = re.findall('<pre id="found">(.*?)</pre>', page_in_browser(around, folder / "profile"), re.DOTALL)
    mistakes: list[list[str]] = json.loads(html.unescape(found))
    return dict(zip(widths, mistakes, strict=True))
