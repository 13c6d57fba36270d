"""Runs a notebook in a kernel of its own, where it lies, and prints what its cells gave, as JSON.

    python run_notebook.py NOTEBOOK.ipynb PAGE.html
"""

import json
import os
import sys

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

source, page = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
resources = {"metadata": {"path": os.path.dirname(os.path.abspath(source))}}
NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
html, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook)
with open(page, "w", encoding="utf-8") as file:
    file.write(html)
outputs = [
    {"text": output.get("text"), **{kind: output.get("data", {}).get(kind) for kind in ("text/plain", "text/html")}}
    for cell in notebook.cells
    for output in cell.get("outputs", [])
]
json.dump(outputs, sys.stdout)
