"""Run the tutorials and write their outputs into them: ``python -m notebooks``, as ``make notebooks`` does."""

import os
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from source_tree import ROOT

TUTORIALS = ROOT / "docs" / "tutorials"
#: What terminals show in colours and bold.
COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
#: Seconds that a cell may take on a busy machine. On an idle one a tutorial takes less than 120.
MOST_SECONDS = 600


def joined(outputs):
    """Return the outputs of a cell with pieces of one stream put together, without colours."""
    whole = []
    for output in outputs:
        if whole and "text" in output and "text" in whole[-1]:
            whole[-1].text += output.text
        else:
            whole.append(output)
    for output in whole:
        if "text" in output:
            output.text = COLOURS.sub("", output.text)
    return whole


def executed(path):
    """Return the notebook at `path` after a run from the top, without the text on stderr."""
    notebook = nbformat.read(path, as_version=4)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "80"}
    client = NotebookClient(notebook, timeout=MOST_SECONDS, resources={"metadata": {"path": str(path.parent)}})
    client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            cell.outputs = joined(cell.outputs)
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return notebook


def printed(notebook):
    """Return the printed text of a notebook's cells. Pictures and addresses are left out: they differ in every run."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                texts.append(output.text)
            elif "text/plain" in output.get("data", {}):
                texts.append(re.sub(r"<.* at 0x[0-9a-f]+>", "<>", output.data["text/plain"]))
    return texts


def main():
    for path in sorted(TUTORIALS.glob("*.ipynb")):
        if len(sys.argv) > 1 and path.stem not in sys.argv[1:]:
            continue
        nbformat.write(executed(path), path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
