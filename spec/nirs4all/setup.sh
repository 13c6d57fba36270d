#!/usr/bin/env bash
# Makes the virtual environment that the tests with the real nirs4all and those of the client for Python use, and prints
# its interpreter:
#
#   export JQ_TEST_PYTHON="$(spec/nirs4all/setup.sh)"
#
# The environment is .venv in the repository, where the tests look by themselves, or the directory in JQ_VENV. One
# that is complete is used again; it takes about 1 GB. Needs Python 3.11 or newer with venv (PYTHON names
# which).
set -euo pipefail

requirement='nirs4all==1.4.10'   # without its extras: no torch, tensorflow, jax, matplotlib
# For the client for Python; of mypy the last that knows Python 3.9.
tools=(mypy==1.18.2 nbclient==0.11.0 nbconvert==7.17.2 ipykernel==7.4.0)
venv=${JQ_VENV:-$(cd "$(dirname "$0")/../.." && pwd)/.venv}
# Written last, so that an installation that broke off is not taken for a complete one.
mark=$venv/installed
interpreter=$venv/bin/python

if [ "$(cat "$mark" 2>/dev/null)" != "$requirement ${tools[*]}" ] || ! "$interpreter" -c '' 2>/dev/null; then
  base=
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      base=$candidate
      break
    fi
  done
  if [ -z "$base" ]; then
    echo 'no Python 3.11 or newer with venv; on Debian: apt-get install python3 python3-venv' >&2
    exit 1
  fi
  {
    rm -f "$mark"
    "$base" -m venv "$venv"
    "$interpreter" -m pip install --quiet --disable-pip-version-check "$requirement" "${tools[@]}"
    printf '%s' "$requirement ${tools[*]}" >"$mark"
  } >&2
fi
printf '%s\n' "$(cd "$(dirname "$interpreter")" && pwd)/python"
