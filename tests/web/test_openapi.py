"""The OpenAPI document is kept to: whatever it allows is answered as it says, and nothing breaks the server."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings

from cranfield.web.app import make_app

http = httpx.Client(timeout=60, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

schemathesis = pytest.importorskip("schemathesis")
schema = schemathesis.openapi.from_dict(make_app().openapi())
HEADERS = {"accept": "application/json"}
few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@schema.parametrize()  # type: ignore[untyped-decorator, unused-ignore]
@few
def test_every_operation_answers_as_it_says(case: Any, page: str) -> None:
    case.call_and_validate(base_url=page, headers=HEADERS, excluded_checks=OUTSIDE)


# A well-formed question may make no sense (a range of no systems): the schema cannot say so, the answer 400 does.
# What methods an address has besides is the pages' business: they are not in the document.
OUTSIDE = [getattr(schemathesis.checks, name) for name in
           ("positive_data_acceptance", "unsupported_method", "allow_header_conformance")]  # fmt: skip


def test_the_document_is_served_as_it_is_made(page: str) -> None:
    assert http.get(f"{page}/openapi.json").json() == make_app().openapi()
