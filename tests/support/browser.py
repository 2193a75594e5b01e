"""Pages in a headless browser without a network."""

import shutil
import subprocess
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIME_LIMIT_S = 120


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
