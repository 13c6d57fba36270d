"""Calls nirs4all.predict without any queue: a list of `[model, spectra]` on standard input, the predictions as JSON."""

import json
import sys

import nirs4all
import numpy

asked, output, sys.stdout = json.load(sys.stdin), sys.stdout, sys.stderr
found = [nirs4all.predict(model=model, data=numpy.array(spectra)).y_pred.tolist() for model, spectra in asked]
json.dump(found, output)
