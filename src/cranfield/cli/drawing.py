"""What --plot draws, a function a chart; the charts themselves are the report's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.methods.sequential import Study


def check_plot(path: str) -> None:
    from cranfield.rendering.charts import check_chart_name

    check_chart_name(path)


def draw_course(study: Study, path: str) -> None:
    """How a study went so far."""
    from cranfield.methods.sequential.study import course
    from cranfield.rendering.charts import write_chart
    from cranfield.rendering.study_charts import course_chart

    write_chart(course_chart(course(study.progress())), path)


def draw(chart: Any, path: str) -> None:
    """Write a chart."""
    from cranfield.rendering.charts import write_chart

    write_chart(chart, path)
