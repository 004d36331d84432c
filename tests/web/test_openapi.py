"""The OpenAPI document is kept to: whatever it allows is answered as it says, and nothing breaks the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings

from cranfield.web import result_pages
from cranfield.web.application import make_app
from sizes import PROOF, sized

http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

schemathesis = pytest.importorskip("schemathesis")
SchemathesisConfig = pytest.importorskip("schemathesis.config").SchemathesisConfig
random = schemathesis.openapi.from_dict(
    make_app().openapi(), config=SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}}})
)
schema = schemathesis.openapi.from_dict(make_app().openapi()) if PROOF else random  # thousands of cases more
HEADERS = {"accept": "application/json"}
few = settings(max_examples=sized(6, 12), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

fewer = settings(few, max_examples=sized(1, 4))


@schema.parametrize()  # type: ignore[untyped-decorator, unused-ignore]
@few
def test_every_operation_answers_as_it_says(case: Any, page: str) -> None:
    case.call_and_validate(base_url=page, headers=HEADERS, excluded_checks=OUTSIDE)


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """Work is not waited for: that it has begun is an answer too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_pages, "WAIT", 0.05)
        yield


@pytest.fixture(scope="module")
def known(page: str, upload: Any, wait: Any, impatient: None) -> Iterator[str]:
    """The key of a small table; it is removed with all that is still at work on it."""
    rows = "".join(f"AP,{topic},{system},0.{topic}{at}\n" for topic in range(1, 7) for at, system in enumerate("abcd"))
    key = upload(page, [("s.csv", f"measure,topic,system,score\n{rows}".encode())]).json()["key"]
    wait(f"{page}/data/{key}.json")
    yield key
    http.post(f"{page}/data/{key}/remove")


@random.include(path_regex=r"/data/\{key\}/[a-z-]+\.json").parametrize()  # type: ignore[untyped-decorator, unused-ignore]
@fewer
def test_every_question_about_data_that_is_there_answers_as_it_says(case: Any, page: str, known: str) -> None:
    case.path_parameters["key"] = known
    # A number is text in an address, and any text may be the name of a measure: whether there is one, the work finds.
    named = [schemathesis.checks.negative_data_rejection] if "measure" in (case.query or {}) else []
    case.call_and_validate(base_url=page, headers=HEADERS, excluded_checks=[*OUTSIDE, *named])


# A well-formed question may make no sense (a range of no systems): the schema cannot say so, the answer 400 does.
# What methods an address has besides is the pages' business: they are not in the document.
OUTSIDE = [
    getattr(schemathesis.checks, name)
    for name in ("positive_data_acceptance", "unsupported_method", "allow_header_conformance")
]


def test_the_document_is_served_as_it_is_made(page: str) -> None:
    assert http.get(f"{page}/openapi.json").json() == make_app().openapi()
