"""Sequential studies of two systems: fixed, iterative, hybrid, group-sequential and anytime-valid plans."""

from cranfield.sequential.confidence import bets_for, confidence_sequence
from cranfield.sequential.goals import PLANS, Goal, even_looks
from cranfield.sequential.groups import GroupDesign, group_design
from cranfield.sequential.order import Order, draw_order, read_topics
from cranfield.sequential.pairs import Pairs, all_pairs, one_pair, random_pairs
from cranfield.sequential.past import PastExperience, past_experience
from cranfield.sequential.peeking import NearMisses, near_misses
from cranfield.sequential.plans import CATALOG, Prospect, prospect
from cranfield.sequential.simulation import Simulation, simulate
from cranfield.sequential.study import (
    Status,
    Study,
    TooEarlyError,
    create_study,
    open_study,
    sd_from_past,
    sd_from_trial,
)
from cranfield.sequential.testing import Tested
from cranfield.sequential.trial import TrialPlan, plan_trial, trial_coverage

__all__ = [
    "CATALOG",
    "PLANS",
    "Goal",
    "GroupDesign",
    "NearMisses",
    "Order",
    "Pairs",
    "PastExperience",
    "Prospect",
    "Simulation",
    "Status",
    "Study",
    "Tested",
    "TooEarlyError",
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
