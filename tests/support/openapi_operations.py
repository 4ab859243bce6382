"""Operations of an OpenAPI document, and the tools that they become."""

JSON = "application/json"


def body(schema, media_type=JSON, *, required=True, **media):
    return {"required": required, "content": {media_type: {"schema": schema, **media}}}
