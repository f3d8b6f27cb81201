#!/bin/sh
# Install into a virtual environment, which is made if it is missing: sh .ci/setup.sh FOLDER WHAT-PIP-INSTALLS...
# PYTHON names the interpreter. What fails is said in one line; pip.log in the folder has pip's own words.
set -eu
venv=$1
python=${PYTHON:-python3}
log=$venv/pip.log
shift

fail() {
  echo "ffplan: $1" >&2
  exit 1
}

new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

usable() {
  new_enough "$venv/bin/python" &&
    "$venv/bin/python" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("pip"))' 2>/dev/null
}

suggested() {
  for name in python3.14 python3.13 python3.12 python3.11; do
    if new_enough "$name"; then
      echo "$name"
      return
    fi
  done
  echo python3.12
}

if ! usable; then
  found=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || found="not there"
  if ! new_enough "$python"; then
    fail "Python 3.11 or newer is needed; $python is $found: make demo PYTHON=$(suggested)"
  fi
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    fail "$python lacks venv or ensurepip: install them (on Debian and Ubuntu: apt-get install python3-venv)"
  fi
  echo "Setting up $venv with Python $found"
  said=$("$python" -m venv "$venv" 2>&1) || :
  usable || fail "$python makes no environment in $venv: $(echo "$said" | tail -n 1); begin again with make clean"
fi

if ! "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check "$@" >"$log" 2>&1; then
  if grep -qiE 'connection|timed out|timeout|name resolution|proxy|ssl|from versions: none' "$log"; then
    fail "pip reaches no package index with what it needs: check the network, HTTPS_PROXY and PIP_INDEX_URL ($log)"
  fi
  said=$(sed -n '/^ERROR: /{s///p;q;}' "$log")
  fail "pip fails: ${said:-$(tail -n 1 "$log")} ($log)"
fi
