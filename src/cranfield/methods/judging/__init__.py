"""Judges: what labels of a language model are worth, and comparisons that correct them by human labels."""

from cranfield.methods.judging.agreement import (
    GradeAgreement,
    Interval,
    MatchedGrades,
    OrderAgreement,
    cohen_kappa,
    grade_agreement,
    krippendorff_alpha,
    match_grades,
    order_agreement,
    rank_biased_overlap,
)
from cranfield.methods.judging.estimators import (
    ESTIMATORS,
    JudgedEstimate,
    JudgedScores,
    estimate_means,
    estimate_pairs,
)
from cranfield.methods.judging.favoured_systems import Favour, favour
from cranfield.methods.judging.judge_effects import DifferenceCorrelation, Drift, difference_correlation, drift
from cranfield.methods.judging.judged_comparison import compare_judged
from cranfield.methods.judging.label_sets import CombinedJudge, average_judge, best_combination
from cranfield.methods.judging.passes import CorrectedShares, rogan_gladen
from cranfield.methods.judging.topic_draw import SampleCheck, check_sample, draw_topics
from cranfield.methods.judging.two_phase_stopping import WidthStatus, width_status

__all__ = [
    "ESTIMATORS",
    "CombinedJudge",
    "CorrectedShares",
    "DifferenceCorrelation",
    "Drift",
    "Favour",
    "GradeAgreement",
    "Interval",
    "JudgedEstimate",
    "JudgedScores",
    "MatchedGrades",
    "OrderAgreement",
    "SampleCheck",
    "WidthStatus",
    "average_judge",
    "best_combination",
    "check_sample",
    "cohen_kappa",
    "compare_judged",
    "difference_correlation",
    "draw_topics",
    "drift",
    "estimate_means",
    "estimate_pairs",
    "favour",
    "grade_agreement",
    "krippendorff_alpha",
    "match_grades",
    "order_agreement",
    "rank_biased_overlap",
    "rogan_gladen",
    "width_status",
]
