# SPDX-License-Identifier: GPL-3.0-or-later
"""schema.py SCHEMA FILE...: each FILE is valid, and every key in it is described."""
import json
import sys

import jsonschema


def undescribed(schema, value, path):
    """Keys of @value for which @schema has neither a property nor a rule for others."""
    if isinstance(value, dict):
        known = schema.get("properties", {})
        others = schema.get("additionalProperties")
        for key, v in value.items():
            if key in known:
                yield from undescribed(known[key], v, f"{path}.{key}")
            elif others is None:
                yield f"{path}.{key}"
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from undescribed(schema.get("items", {}), v, f"{path}[{i}]")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    for name in sys.argv[2:]:
        with open(name, encoding="utf-8") as f:
            value = json.load(f)
        jsonschema.validate(value, schema, cls=jsonschema.Draft7Validator)
        missing = sorted(set(undescribed(schema, value, "")))
        if missing:
            sys.exit(f"{name}: not in the schema: {', '.join(missing)}")


main()
