"""Pictures of the docs: the report of the example on two virtual boards, and its timeline."""

import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from PIL import Image

from common.benchmark import benchmark
from common.networks import DOCS, EXAMPLE
from tinysplit.common.errors import ToolError

BOARDS = ("-b", "nucleo_g071rb", "-b", "nucleo_g071rb", "--baud", "115200", "--assign", "1-4:1,5-7:2")
SAMPLES = ("--samples", str(EXAMPLE / "samples.npz"))
CALIBRATION = ("--calibration-samples", str(EXAMPLE / "calibration.npz"))
WINDOW, SCALE = "1180,1740", 0.75  # CSS pixels, from the title to the timeline; pixels of the picture for one


def tinysplit(*arguments: str) -> None:
    """Run a command, which prints nothing here."""
    subprocess.run([sys.executable, "-m", "tinysplit", *arguments], check=True, stdout=subprocess.DEVNULL)


def screenshot(page: Path, picture: Path) -> None:
    """Write what Chromium shows of the page. Raises ToolError where it is not installed."""
    browser = shutil.which("chromium")
    if browser is None:
        raise ToolError("no chromium: install it (Debian: apt-get install chromium)")
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={WINDOW}",
        f"--force-device-scale-factor={SCALE}",
    )
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *flags, f"--user-data-dir={profile}", f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=120)
    with Image.open(picture) as shown:
        shown.convert("RGB").quantize(128).save(picture, optimize=True)  # a third of the bytes


@benchmark("report", "2 minutes")
def report(_options: Namespace) -> None:
    """Draw docs/images/report.png and timeline.svg: the example network on two virtual boards, by Chromium."""
    with tempfile.TemporaryDirectory() as folder:
        out, page = Path(folder, "out"), Path(folder, "report.html")
        tinysplit("run", str(EXAMPLE / "tiny_cnn.onnx"), *BOARDS, *SAMPLES, *CALIBRATION, "-o", str(out))
        timeline = ("--timeline-svg", str(DOCS / "images" / "timeline.svg"), "--force")
        tinysplit("measure", str(out), *SAMPLES, "--sample-count", "5", *timeline)
        tinysplit("validate", str(out), *SAMPLES)
        tinysplit("report", str(out), "-o", str(page))
        screenshot(page, DOCS / "images" / "report.png")
