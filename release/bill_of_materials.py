"""The bill of materials of a release: CycloneDX 1.6 in JSON."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from dependencies import PROJECT, dependency_graph, users_extras
from licenses import ListedLicense, Sections
from tinysplit import __version__


@dataclass(frozen=True)
class DistributionFile:
    """A wheel or source distribution: its name and its SHA-256 in hexadecimal digits."""

    name: str
    sha256: str


Files = Mapping[str, Sequence[DistributionFile]]


def bill_of_materials(sections: Sections, files: Files, seconds: int) -> str:
    """Return the bill of tinysplit and of all that it and its extras require, in the versions that are installed.

    The same arguments give the same text in the same environment: the serial number is derived from the contents.

    Args:
        sections: the licence list.
        files: wheels and source distributions, by the names of their packages, wheels first.
        seconds: the time of the release, in seconds since 1970.
    """
    licenses = {name: listed for entries in sections.values() for name, listed in entries.items()}
    licenses[PROJECT] = ListedLicense(metadata.metadata(PROJECT)["License-Expression"])
    graph = dependency_graph(users_extras())
    components = {name: _component(name, licenses[name], files.get(name, ())) for name in graph}
    _add_scopes(components)
    bom = Bom(components=[components[name] for name in graph if name != PROJECT], serial_number=uuid.UUID(int=0))
    bom.metadata.component = components[PROJECT]
    bom.metadata.timestamp = datetime.fromtimestamp(seconds, UTC)
    for name, required in graph.items():
        bom.register_dependency(components[name], [components[other] for other in sorted(required)])
    bom.serial_number = uuid.uuid5(uuid.NAMESPACE_URL, JsonV1Dot6(bom).output_as_string())
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _component(name: str, listed: ListedLicense, files: Sequence[DistributionFile]) -> Component:
    fields = metadata.metadata(name)
    version = __version__ if name == PROJECT else fields["Version"]
    purl = PackageURL("pypi", name=name, version=version)
    # What the authors declare, or our conclusion where their metadata is wrong or unclear.
    source = LicenseAcknowledgement.CONCLUDED if listed.metadata else LicenseAcknowledgement.DECLARED
    return Component(
        type=ComponentType.APPLICATION if name == PROJECT else ComponentType.LIBRARY,
        name=fields["Name"],
        version=version,
        description=fields["Summary"] if "Summary" in fields else None,  # noqa: SIM401 (it has no get)
        bom_ref=purl.to_string(),
        purl=purl,
        licenses=[LicenseExpression(listed.license, acknowledgement=source)],
        hashes=[_hash(file) for file in files[:1]],
        external_references=[
            ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(file.name), hashes=[_hash(file)])
            for file in files
        ],
    )


def _hash(file: DistributionFile) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=file.sha256)


def _add_scopes(components: Mapping[str, Component]) -> None:
    """Mark what tinysplit cannot do without, and what comes with extras, with the names of these."""
    required = dependency_graph()
    by_extra = {extra: dependency_graph({extra}) for extra in sorted(users_extras())}
    for name, component in components.items():
        component.scope = ComponentScope.REQUIRED if name in required else ComponentScope.OPTIONAL
        if name not in required:
            component.properties.update(
                Property(name="tinysplit:extra", value=extra) for extra, graph in by_extra.items() if name in graph
            )
