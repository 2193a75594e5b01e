"""The calls of labgrid that tinysplit makes, on an environment that is written in JSON; hosts are this machine."""

import json
import subprocess
from pathlib import Path
from typing import Any


class Resource:
    def __init__(self, **values: Any) -> None:  # noqa: ANN401
        self.__dict__.update(values)

    def wrap_command(self, command: list[str]) -> list[str]:
        return ["env", f"PROBE={self.__dict__['path']}", *command]


class NetworkSerialPort(Resource):
    pass


class RawSerialPort(Resource):
    pass


class NetworkUSBDebugger(Resource):
    pass


KINDS = {each.__name__: each for each in (NetworkSerialPort, RawSerialPort, NetworkUSBDebugger)}


class ExternalPowerDriver:
    def __init__(self, cmd_on: str, cmd_off: str, delay: float) -> None:
        assert delay == 0.0
        self._commands = cmd_off, cmd_on
        self.is_active = False

    def cycle(self) -> None:
        assert self.is_active
        for command in self._commands:
            subprocess.run(command.split(), check=True)


class Target:
    def __init__(self, resources: dict[str, dict[str, Any]], drivers: dict[str, dict[str, Any]]) -> None:
        self.resources = [KINDS[kind](**values) for kind, values in resources.items()]
        self.drivers = [ExternalPowerDriver(**values) for values in drivers.values()]

    def activate(self, driver: ExternalPowerDriver) -> None:
        driver.is_active = True

    def await_resources(self, resources: list[Resource]) -> None:
        for each in resources:
            if not each.__dict__.get("avail", True):
                raise RuntimeError("place is not acquired")


class Config:
    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def get_targets(self) -> dict[str, Any]:
        return dict(self._data["targets"])

    def get_tool(self, name: str) -> str:
        return str(self._data.get("tools", {}).get(name, name))


class Environment:
    def __init__(self, path: str) -> None:
        self.config_file = path
        self.config = Config(json.loads(Path(path).read_text()))

    def get_target(self, name: str) -> Target | None:
        found = self.config.get_targets().get(name)
        return Target(found["resources"], found.get("drivers", {})) if found else None

    def cleanup(self) -> None:
        pass
