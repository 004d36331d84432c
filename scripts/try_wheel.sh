#!/bin/sh
# Build the wheel, install it into a clean environment for every Python there is, weigh it, and try it in an empty
# folder. PYTHONS names the interpreters, EXTRAS the installations (none: the core alone, which the others are weighed
# against; charts,web: both), WORK where environments are made.
set -eu
cd "$(dirname "$0")/.."
PYTHONS=${PYTHONS:-"python3.11 python3.12 python3.13 python3.14"}
EXTRAS=${EXTRAS:-"none charts workbook web cluster parquet all"}
WORK=${WORK:-$(mktemp -d)}
BUILDER=${BUILDER:-python3}

unset PYTHONPATH
rm -rf "$WORK/dist"
"$BUILDER" -m pip wheel --quiet --no-deps --wheel-dir "$WORK/dist" .
wheel=$(ls "$WORK"/dist/cranfield-*.whl)
printf '%s: %s kB\n' "$(basename "$wheel")" "$(($(wc -c < "$wheel") / 1000))"

for python in $PYTHONS; do
    "$python" -c '' 2> /dev/null || { printf '%s: not found, left out\n' "$python"; continue; }
    version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
    core=
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
        weight=$(($(du -sm "$place" | cut -f1) - before))
        more=${core:+" (the core and $((weight - core)) MB)"}
        case $extra in
            none) core=$weight parts= ;;
            all) parts="charts workbook web cluster parquet" ;;
            *) parts=$(printf %s "$extra" | tr , ' ') ;;
        esac
        printf 'Python %s, %s: %s s to install, %s MB%s\n' "$version" "$extra" "$seconds" "$weight" "$more"
        "$place/bin/python" scripts/smoke.py $parts
        [ -n "${KEEP:-}" ] || rm -rf "$place"
    done
done
