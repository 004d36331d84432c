"""Pilots: the accuracy of variance estimates from fewer teams and fewer topics."""

from cranfield.methods.leave_out.pilots import PilotPoint, PilotStudy, pilot_study, write_leave_outs

__all__ = ["PilotPoint", "PilotStudy", "pilot_study", "write_leave_outs"]
