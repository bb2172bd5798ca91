# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
# the tests source tap.sh and use what it sets
shellcheck -x -s sh -e SC1091,SC2034,SC2154,SC2086,SC2016 dev .ci/run tools/*.sh tests/*.sh tests/*/*.sh tests/*/*.t
