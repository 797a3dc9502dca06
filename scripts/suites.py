"""What the scripts that run suites share. In: a suite's executable, rows and options; out: what it stored, and names of rows."""

import json
import subprocess
import tempfile


def split_options(arguments):
    """What stands before `--`, and the options behind it."""
    if "--" not in arguments:
        return arguments, []
    split = arguments.index("--")
    return arguments[:split], arguments[split + 1:]


def run(suite, rows, options, check=True):
    """What a run of these rows stored, all of which must be measured where that is to be checked. What the suite says on
    standard error is passed on."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [suite, "--exact", *rows, "--json", out.name, *options]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=check)
        return json.load(out)


def records(suite, rows, options):
    """Its records."""
    return run(suite, rows, options)["records"]


def shown(record):
    """The name of a record's row."""
    args = ", ".join(f"{arg['name']}={arg['value']}" for arg in record["args"])
    return record["benchmark"] + (f"[{args}]" if args else "")
