"""What the scripts that run suites share. In: a suite's executable, rows and options; out: what it stored, and names of rows."""

import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def split_options(arguments):
    """What stands before `--`, and the options behind it."""
    if "--" not in arguments:
        return arguments, []
    split = arguments.index("--")
    return arguments[:split], arguments[split + 1:]


def run(suite, rows, options, check=True):
    """What a run of these rows stored, all of which must be measured where that is to be checked. What the suite says on
    standard error is passed on."""
    return stored([suite, "--exact", *rows, *options], check)


def stored(command, check=True):
    """What the suite of this command stored. Its file takes the place of any other, so that only its name is given."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run.json"
        subprocess.run([*command, "--json", out], stdout=subprocess.DEVNULL, check=check)
        return json.loads(out.read_text())


def records(suite, rows, options):
    """Its records."""
    return run(suite, rows, options)["records"]


def shown(record):
    """The name of a record's row."""
    args = ", ".join(f"{arg['name']}={arg['value']}" for arg in record["args"])
    return record["benchmark"] + (f"[{args}]" if args else "")


def built(command, target, environment):
    """The file that cargo makes of this target."""
    messages = ["--quiet", "--message-format", "json-render-diagnostics"]
    made = subprocess.run(["cargo", *command, *messages], env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    artifacts = [json.loads(line) for line in made.stdout.splitlines()]
    of_target = [one for one in artifacts if one["reason"] == "compiler-artifact" and one["target"]["name"] == target]
    return next(file for file in reversed(of_target[-1]["filenames"]) if not file.endswith(".rlib"))
