"""What the OpenAPI document says of answers: a schema for each, and which operation answers with which.

Nothing here is on the way of a request: answers are written by those who make them, and tests hold them
against this. It is imported when somebody asks for the document.
"""
