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
from cranfield.methods.judging.judge_effects import (
    DifferenceCorrelation,
    Drift,
    difference_correlation,
    drift,
    effective_topics,
)
from cranfield.methods.judging.judged_comparison import compare_judged
from cranfield.methods.judging.label_design import (
    LabelCosts,
    LabelDesign,
    best_share,
    design_for_budget,
    design_for_power,
    design_for_width,
    judged_detectable,
    judged_power,
    judged_width,
)
from cranfield.methods.judging.label_plan import Correlation, LabelCard, LabelSize, label_size
from cranfield.methods.judging.label_sets import CombinedJudge, average_judge, best_combination
from cranfield.methods.judging.passes import CorrectedShares, rogan_gladen
from cranfield.methods.judging.topic_draw import SampleCheck, check_sample, draw_topics
from cranfield.methods.judging.two_phase_stopping import WidthStatus, width_status

__all__ = [
    "ESTIMATORS",
    "CombinedJudge",
    "CorrectedShares",
    "Correlation",
    "DifferenceCorrelation",
    "Drift",
    "Favour",
    "GradeAgreement",
    "Interval",
    "JudgedEstimate",
    "JudgedScores",
    "LabelCard",
    "LabelCosts",
    "LabelDesign",
    "LabelSize",
    "MatchedGrades",
    "OrderAgreement",
    "SampleCheck",
    "WidthStatus",
    "average_judge",
    "best_combination",
    "best_share",
    "check_sample",
    "cohen_kappa",
    "compare_judged",
    "design_for_budget",
    "design_for_power",
    "design_for_width",
    "difference_correlation",
    "draw_topics",
    "drift",
    "effective_topics",
    "estimate_means",
    "estimate_pairs",
    "favour",
    "grade_agreement",
    "judged_detectable",
    "judged_power",
    "judged_width",
    "krippendorff_alpha",
    "label_size",
    "match_grades",
    "order_agreement",
    "rank_biased_overlap",
    "rogan_gladen",
    "width_status",
]
