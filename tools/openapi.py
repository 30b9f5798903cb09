#!/usr/bin/env python3
"""Adds to the OpenAPI document what the table of proto/gateway.yaml cannot say: openapi.py FILE

Raw values: PUT /v1/kv/{key} stores its body as it is, and ?raw reads it so. Secrets and idempotency keys: over REST they
travel in headers only, because addresses end up in logs. Errors and streams: the server writes them without the wrappers
that the generator believes in. Paths for operators: they are no RPCs.
"""

import json
import sys

KEY_PATH = "/v1/kv/{key}"
HEADER_ONLY = {"options.sessionSecret", "options.idempotencyKey"}
HEADERS = {
    "sessionSecret": {
        "name": "Tenure-Session-Secret",
        "description": "Secret of the session the call acts as, 32 bytes as base64. Needed if the session was made with one.",
        "in": "header",
        "required": False,
        "type": "string",
        "format": "byte",
    },
    "idempotencyKey": {
        "name": "Idempotency-Key",
        "description": "Makes the call exactly-once without a session: random, 16 to 64 bytes of text.",
        "in": "header",
        "required": False,
        "type": "string",
    },
}

ERROR = {
    "ErrorAnswer": {
        "type": "object",
        "description": "What every error looks like, and the last line of a stream that fails.",
        "required": ["error"],
        "properties": {"error": {"$ref": "#/definitions/Error"}},
    },
    "Error": {
        "type": "object",
        "required": ["code", "status", "message"],
        "properties": {
            "code": {
                "type": "string",
                "description": "The reason; programs branch on it. A value of ErrorReason without its prefix, such as COMPARE_FAILED.",
            },
            "status": {"type": "string", "description": "Name of the gRPC code, such as FAILED_PRECONDITION."},
            "message": {"type": "string", "description": "Text for people; it may change."},
            "metadata": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": 'Facts: "applied" (yes, no or unknown), and where known "field", "retry_after_ms", "leader", '
                '"revision", "compacted_revision" and others named with the reason.',
            },
            "violations": {
                "type": "array",
                "description": "Each wrong field.",
                "items": {
                    "type": "object",
                    "properties": {"field": {"type": "string"}, "description": {"type": "string"}},
                },
            },
        },
    },
}
NDJSON = "application/x-ndjson"
BACKUP = "/v1/admin/backup"  # The one stream that is a file.
TEXT = "text/plain"
JSON = "application/json"
OPERATIONS = {
    "/healthz": ("Healthz", "Healthz tells that the process is alive, also without a leader.", TEXT),
    "/readyz": ("Readyz", "Readyz tells whether the member can serve: 200, or 503 and what fails.", TEXT),
    "/metrics": ("Metrics", "Metrics returns the member's metrics in the text format of Prometheus.", TEXT),
    "/version": ("Version", "Version returns the versions of the program and of the API.", JSON),
    "/openapi.json": ("OpenAPI", "OpenAPI returns this document.", JSON),
}
VERBOSE = {
    "name": "verbose",
    "description": "Lists the checks, one a line.",
    "in": "query",
    "required": False,
    "type": "boolean",
}


def takes_options(document, operation):
    """Tells whether the operation's request has CallOptions, in its query or its body."""
    for parameter in operation.get("parameters", []):
        if parameter["name"] in HEADER_ONLY:
            return True
        if parameter["in"] == "body" and "$ref" in parameter["schema"]:
            body = document["definitions"][parameter["schema"]["$ref"].rsplit("/", 1)[1]]
            if "options" in body.get("properties", {}):
                return True
    return False


def move_to_headers(document):
    """Replaces parameters that must not stand in an address by headers."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if not takes_options(document, operation):
                continue
            kept = [parameter for parameter in operation["parameters"] if parameter["name"] not in HEADER_ONLY]
            operation["parameters"] = kept + [{"$ref": "#/parameters/" + name} for name in HEADERS]
    document["parameters"] = HEADERS


def add_raw_values(document):
    """Adds the raw put, whose query parameters are the fields of a put but its content, and ?raw."""
    operations = document["paths"][KEY_PATH]
    put, delete, get = operations["post"], operations["delete"], operations["get"]
    key = next(parameter for parameter in put["parameters"] if parameter["in"] == "path")
    body = {
        "name": "body",
        "description": "The value, at most 512 KiB, whatever its type.",
        "in": "body",
        "required": False,
        "schema": {"type": "string", "format": "binary"},
    }
    query = []
    for name, schema in document["definitions"]["PutBody"]["properties"].items():
        if name not in ("value", "text", "options"):
            query.append({"name": name, "in": "query", "required": False, **schema})
    options = [parameter for parameter in delete["parameters"] if parameter.get("name", "").startswith("options.")]
    headers = [parameter for parameter in delete["parameters"] if "$ref" in parameter]
    operations["put"] = {
        **put,
        "operationId": "PutRaw",
        "consumes": ["application/octet-stream", "*/*"],
        "parameters": [key, body] + query + options + headers,
    }
    get["produces"] = ["application/json", "application/octet-stream"]
    get["parameters"].append({
        "name": "raw",
        "description": "Returns the bytes of the value instead of JSON.",
        "in": "query",
        "required": False,
        "type": "boolean",
    })


def correct_answers(document):
    """Describes errors and streams as the server writes them."""
    for name in ("Status", "Any"):
        document["definitions"].pop(name, None)
    document["definitions"].update(ERROR)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            answers["default"] = {"description": "An error.", "schema": {"$ref": "#/definitions/ErrorAnswer"}}
            schema = answers["200"]["schema"]
            if path == BACKUP:
                operation["produces"] = ["application/octet-stream"]
                answers["200"] = {
                    "description": "The bytes of a backup file. An answer that breaks is no backup.",
                    "schema": {"type": "string", "format": "binary"},
                }
            elif schema.get("title", "").startswith("Stream result of "):
                operation["produces"] = [NDJSON]
                answers["200"] = {
                    "description": "One JSON object a line; an error after the first line is a last line, an ErrorAnswer.",
                    "schema": schema["properties"]["result"],
                }


def add_operations(document):
    """Adds the paths for operators."""
    for path, (name, summary, kind) in OPERATIONS.items():
        get = {
            "summary": summary,
            "operationId": name,
            "produces": [kind],
            "responses": {"200": {"description": "A successful response."}},
            "tags": ["Operations"],
        }
        if path == "/readyz":
            get["parameters"] = [VERBOSE]
            get["responses"]["503"] = {"description": "The member cannot serve."}
        document["paths"][path] = {"get": get}
    document["tags"].append({"name": "Operations", "description": "Paths for operators and monitoring."})


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    move_to_headers(document)
    add_raw_values(document)
    correct_answers(document)
    add_operations(document)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
