"""See labgrid."""

from typing import Any


class ProxyManager:
    def get_host_and_port(self, resource: Any) -> tuple[str, int]:  # noqa: ANN401
        return resource.host, resource.port


proxymanager = ProxyManager()
