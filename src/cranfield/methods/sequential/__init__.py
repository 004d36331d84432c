"""Sequential studies of two systems: fixed, iterative, hybrid, group-sequential and anytime-valid plans."""

from cranfield.methods.sequential.conclusion import FinalTest
from cranfield.methods.sequential.confidence import bets_for, confidence_sequence
from cranfield.methods.sequential.groups import GroupDesign, group_design
from cranfield.methods.sequential.paired_differences import PairedDifferences, all_pairs, one_pair, random_pairs
from cranfield.methods.sequential.paths import NearMisses, near_misses
from cranfield.methods.sequential.plan_simulation import PlanSimulation, simulate
from cranfield.methods.sequential.plans import CATALOG, Prospect, prospect
from cranfield.methods.sequential.study import (
    Status,
    Study,
    TooEarlyError,
    create_study,
    open_study,
    sd_from_past,
    sd_from_trial,
)
from cranfield.methods.sequential.study_goal import PLANS, StudyGoal, TopicOrder, draw_order, even_looks, read_topics
from cranfield.methods.sequential.trial import PastExperience, TrialPlan, past_experience, plan_trial, trial_coverage

__all__ = [
    "CATALOG",
    "PLANS",
    "FinalTest",
    "GroupDesign",
    "NearMisses",
    "PairedDifferences",
    "PastExperience",
    "PlanSimulation",
    "Prospect",
    "Status",
    "Study",
    "StudyGoal",
    "TooEarlyError",
    "TopicOrder",
    "TrialPlan",
    "all_pairs",
    "bets_for",
    "confidence_sequence",
    "create_study",
    "draw_order",
    "even_looks",
    "group_design",
    "near_misses",
    "one_pair",
    "open_study",
    "past_experience",
    "plan_trial",
    "prospect",
    "random_pairs",
    "read_topics",
    "sd_from_past",
    "sd_from_trial",
    "simulate",
    "trial_coverage",
]
