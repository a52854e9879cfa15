"""Tests scripts/progress.py on synthetic builds. Usage: progress_test.py SOURCE_DIR"""
import io
import subprocess
import sys
import tempfile
from pathlib import Path

source = Path(sys.argv[1])
sys.path.insert(0, str(source / "scripts"))
import progress  # noqa: E402  (in scripts/)

assert progress.duration(45) == "45 s" and progress.duration(200) == "3 min" and progress.duration(6000) == "1 h 40 min"

# Kernels weigh more than links, so half of the steps is not half of the work.
estimate = progress.Estimate(["Linking a", "Linking b", "Kernels of c", "Kernels of d"])
estimate.finish("Linking a", 1, 4)
estimate.finish("Linking b", 2, 4)
assert estimate.share() < 0.1, estimate.share()
assert estimate.seconds_left(1.0) > 10
estimate.finish("Kernels of c", 3, 4)
estimate.finish("Kernels of d", 4, 4)
assert estimate.share() == 1 and estimate.seconds_left(9.0) == 0

# CMake ran again, and the plan had only that step.
estimate = progress.Estimate(["Re-running CMake..."])
estimate.finish("Building a", 1, 4)
assert estimate.share() == 0.25, estimate.share()

# Lines that are no steps are printed unchanged, also to a file; the exit status is the build's.
build = "printf '[1/2] Building a\\nerror: no\\n[2/2] Linking b\\n'; exit 3"
with tempfile.TemporaryDirectory() as folder:
    log = Path(folder) / "build.log"
    run = subprocess.run([sys.executable, str(source / "scripts/progress.py"), str(log), "bash", "-c", build],
                         capture_output=True, text=True, check=False)
    assert run.returncode == 3, run
    assert run.stdout == "error: no\n", run.stdout
    assert log.read_text() == "[1/2] Building a\nerror: no\n[2/2] Linking b\n"


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


terminal = Terminal()
printer = progress.Printer(terminal)
printer.status("one")
printer.message("two")
assert terminal.getvalue() == "\r\033[Kone\r\033[Ktwo\n", terminal.getvalue()
print("progress: as expected")
