#!/bin/sh
# Build the wheel, install it into a clean environment for every Python there is, and try it in an empty folder.
# PYTHONS names the interpreters, EXTRAS the installations (none: the core alone), WORK where environments are made.
set -eu
cd "$(dirname "$0")/.."
PYTHONS=${PYTHONS:-"python3.11 python3.12 python3.13"}
EXTRAS=${EXTRAS:-"none web cluster all"}
WORK=${WORK:-$(mktemp -d)}
BUILDER=${BUILDER:-python3}

unset PYTHONPATH
rm -rf "$WORK/dist"
"$BUILDER" -m pip wheel --quiet --no-deps --wheel-dir "$WORK/dist" .
wheel=$(ls "$WORK"/dist/cranfield-*.whl)
printf '%s: %s kB\n' "$(basename "$wheel")" "$(($(wc -c < "$wheel") / 1000))"

for python in $PYTHONS; do
    command -v "$python" > /dev/null || { printf '%s: not found, left out\n' "$python"; continue; }
    version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
    for extra in $EXTRAS; do
        place=$WORK/$version-$extra
        rm -rf "$place"
        "$python" -m venv "$place"
        before=$(du -sm "$place" | cut -f1)
        started=$(date +%s)
        case $extra in
            none) "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" ;;
            *) "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel[$extra]" ;;
        esac
        seconds=$(($(date +%s) - started))
        printf 'Python %s, %s: %s s to install, %s MB\n' "$version" "$extra" "$seconds" "$(($(du -sm "$place" | cut -f1) - before))"
        case $extra in
            none) "$place/bin/python" scripts/smoke.py ;;
            all) "$place/bin/python" scripts/smoke.py web cluster parquet ;;
            *) "$place/bin/python" scripts/smoke.py "$extra" ;;
        esac
        [ -n "${KEEP:-}" ] || rm -rf "$place"
    done
done
