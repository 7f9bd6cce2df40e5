#!/usr/bin/env bash
set -euo pipefail

source=$1
target=$2
archive="$target/backup-$(date +%Y-%m-%d).tar.gz"

tar -czf "$archive.part" -C "$source" .
mv "$archive.part" "$archive"

ls -1t "$target"/backup-*.tar.gz | tail -n +7 | xargs -r rm --
