#!/usr/bin/env bash
# Makes the virtual environment with the S3 services that specifications use, and prints its interpreter:
#
#   export JQ_TEST_S3="$(spec/objects/setup.sh)"
#
# OpenStack Swift with its S3 API, which keeps what it is given on the disk, and moto, which keeps it in memory. The
# environment is .venv-s3 in the repository, where the specifications look by themselves, or the directory in
# JQ_S3_VENV. One that is complete is used again.
set -euo pipefail

packages=(swift==2.38.3 moto==5.2.5 flask==3.1.3 flask-cors==6.0.5)
venv=${JQ_S3_VENV:-$(cd "$(dirname "$0")/../.." && pwd)/.venv-s3}
# Written last, so that an installation that broke off is not taken for a complete one.
mark=$venv/installed

if [ "$(cat "$mark" 2>/dev/null)" != "${packages[*]}" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
  {
    rm -f "$mark"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
    printf '%s' "${packages[*]}" >"$mark"
  } >&2
fi
printf '%s\n' "$(cd "$venv/bin" && pwd)/python"
