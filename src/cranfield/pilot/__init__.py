"""Pilots: how good an estimate of the variance fewer teams and fewer topics would have given."""

from cranfield.pilot.files import write_leave_outs
from cranfield.pilot.study import PilotPoint, PilotStudy, pilot_study

__all__ = ["PilotPoint", "PilotStudy", "pilot_study", "write_leave_outs"]
