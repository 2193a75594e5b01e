"""See labgrid."""

import shutil
from pathlib import Path


class ManagedFile:
    """A file whose copy lies in /cache of its own folder."""

    def __init__(self, path: str, resource: object) -> None:
        del resource
        self._path = Path(path)

    def sync_to_resource(self) -> None:
        Path(self.get_remote_path()).parent.mkdir(exist_ok=True)
        shutil.copy(self._path, self.get_remote_path())

    def get_remote_path(self) -> str:
        return str(self._path.parent / "cache" / self._path.name)
