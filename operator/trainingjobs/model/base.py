"""How every model of the resource behaves: frozen, strict about names, camelCase outside.

The Python names follow Python and the manifest's names follow Kubernetes; one generator
links them, so that no field has to say its name twice.
"""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """A frozen value that reads and writes the manifest's camelCase names."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore"
    )
