"""Files and folders that commands write."""

from tinysplit.settings.programs import MARKERS
from tinysplit.settings.setting import Heading, Setting

OUT = Setting("out", "Folder to generate: a new, an empty or an older generated folder.", short="-o")
FORCE = Setting(
    "force",
    "Overwrite files that tinysplit did not write, and generated folders with what was changed in them.",
    is_switch=True,
)
VCD = Setting("vcd", f"VCD file to write: the markers of virtual boards (`generate {MARKERS}`).", Heading.RESULT_FILES)
SAVE = Setting("save", "Write the measurement to a JSON file, which `tinysplit compare` reads.", Heading.RESULT_FILES)
CSV = Setting("csv", "Write all times and their statistics over samples to a CSV file.", Heading.RESULT_FILES)
JUNIT = Setting(
    "junit",
    "Write JUnit XML for continuous integration: a test case for each sample, and the median of each time.",
    Heading.RESULT_FILES,
)
TIMELINE_SVG = Setting("timeline_svg", "Write this timeline as a picture.", Heading.RESULT_FILES)
TIMELINE_TRACE = Setting(
    "timeline_trace", "Write it as a trace, which Perfetto and chrome://tracing open.", Heading.RESULT_FILES
)
