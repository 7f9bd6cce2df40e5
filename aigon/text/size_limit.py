"""Sizes beyond which a file is not what it is called, and is refused by name instead of being read whole."""

from aigon.errors import AigonError, Exit

MIB = 1024 * 1024


def too_large(what: str, size: int, largest: int, *, where: str, hint: str, code: Exit = Exit.USAGE) -> AigonError:
    """That `what`, of `size` bytes, is larger than the `largest` that is read. `code` 2 for people's files, 7 else."""
    return AigonError(
        f"{what} is too large: {shown(size)}, and {shown(largest)} is read", where=where, hint=hint, code=code
    )


def shown(size: int) -> str:
    """Bytes as people say them: `900 bytes`, `64.0 KiB`, `1.5 MiB`."""
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.1f} KiB" if size < MIB else f"{size / MIB:.1f} MiB"
