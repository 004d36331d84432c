"""References of methods and measures by citation key, and as BibTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence

REFERENCES = {
    "Arteaga1982": "Arteaga, C., Jeyaratnam, S. and Franklin, G. A.: Confidence Intervals for Proportions of Total "
    "Variance in the Two-Way Cross Component of Variance Model. Communications in Statistics 11(15), 1982.",
    "BellMcCaffrey2002": "Bell, R. M. and McCaffrey, D. F.: Bias Reduction in Standard Errors for Linear Regression "
    "with Multi-Stage Samples. Survey Methodology 28(2), 2002.",
    "Agrawal2009": "Agrawal, R., Gollapudi, S., Halverson, A. and Ieong, S.: Diversifying Search Results. WSDM 2009.",
    "Azzopardi2019": "Azzopardi, L., Thomas, P. and Moffat, A.: cwl_eval: An Evaluation Tool for Information "
    "Retrieval. SIGIR 2019.",
    "Azzopardi2021": "Azzopardi, L., Mackenzie, J. and Moffat, A.: ERR is not C/W/L: Exploring the Relationship "
    "Between Expected Reciprocal Rank and Other Metrics. ICTIR 2021.",
    "Brennan2001": "Brennan, R. L.: Generalizability Theory. Springer, 2001.",
    "Aas2009": "Aas, K., Czado, C., Frigessi, A. and Bakken, H.: Pair-Copula Constructions of Multiple Dependence. "
    "Insurance: Mathematics and Economics 44(2), 2009.",
    "BuckleyVoorhees2004": "Buckley, C. and Voorhees, E. M.: Retrieval Evaluation with Incomplete Information. "
    "SIGIR 2004.",
    "Angelopoulos2023": "Angelopoulos, A. N., Duchi, J. C. and Zrnic, T.: PPI++: Efficient Prediction-Powered "
    "Inference. arXiv:2311.01453, 2023.",
    "BuckleyVoorhees2005": "Buckley, C. and Voorhees, E. M.: Retrieval System Evaluation. In: TREC: Experiment and "
    "Evaluation in Information Retrieval, MIT Press, 2005.",
    "CarioNelson1997": "Cario, M. C. and Nelson, B. L.: Modeling and Generating Random Vectors with Arbitrary Marginal "
    "Distributions and Correlation Matrix. Northwestern University, 1997.",
    "Carterette2012": "Carterette, B.: Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval "
    "Experiments. ACM TOIS 30(1), 2012.",
    "Chapelle2009": "Chapelle, O., Metzler, D., Zhang, Y. and Grinspan, P.: Expected Reciprocal Rank for Graded "
    "Relevance. CIKM 2009.",
    "Chapelle2011": "Chapelle, O., Ji, S., Liao, C., Velipasaoglu, E., Lai, L. and Wu, S.-L.: Intent-based "
    "Diversification of Web Search Results: Metrics and Algorithms. Information Retrieval 14(6), 2011.",
    "Clark1973": "Clark, H. H.: The Language-as-Fixed-Effect Fallacy: A Critique of Language Statistics in "
    "Psychological Research. Journal of Verbal Learning and Verbal Behavior 12(4), 1973.",
    "Clarke2008": "Clarke, C. L. A., Kolla, M., Cormack, G. V., Vechtomova, O., Ashkan, A., Büttcher, S. and "
    "MacKinnon, I.: Novelty and Diversity in Information Retrieval Evaluation. SIGIR 2008.",
    "Clarke2009": "Clarke, C. L. A., Kolla, M. and Vechtomova, O.: An Effectiveness Measure for Ambiguous and "
    "Underspecified Queries. ICTIR 2009.",
    "Clarke2021": "Clarke, C. L. A., Vtyurina, A. and Smucker, M. D.: Assessing Top-k Preferences. ACM TOIS 39(3), "
    "2021.",
    "Cochran1977": "Cochran, W. G.: Sampling Techniques, 3rd edition. Wiley, 1977.",
    "Cohen1968": "Cohen, J.: Weighted Kappa: Nominal Scale Agreement with Provision for Scaled Disagreement or Partial "
    "Credit. Psychological Bulletin 70(4), 1968.",
    "Cohen1988": "Cohen, J.: Statistical Power Analysis for the Behavioral Sciences, 2nd edition. Erlbaum, 1988.",
    "Conover1999": "Conover, W. J.: Practical Nonparametric Statistics, 3rd edition. Wiley, 1999.",
    "Demsar2006": "Demšar, J.: Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.",
    "DerSimonianLaird1986": "DerSimonian, R. and Laird, N.: Meta-Analysis in Clinical Trials. Controlled Clinical "
    "Trials 7(3), 1986.",
    "Dincer2013": "Dinçer, B. T.: Design of Information Retrieval Experiments: the Sufficient Topic Set Size for "
    "Providing an Adequate Level of Confidence. Turk. J. Elec. Eng. & Comp. Sci. 21, 2013.",
    "Dunnett1964": "Dunnett, C. W.: New Tables for Multiple Comparisons with a Control. Biometrics 20(3), 1964.",
    "EfronTibshirani1993": "Efron, B. and Tibshirani, R. J.: An Introduction to the Bootstrap. Chapman & Hall, 1993.",
    "Feldt1965": "Feldt, L. S.: The Approximate Sampling Distribution of Kuder-Richardson Reliability Coefficient "
    "Twenty. Psychometrika 30(3), 1965.",
    "FerroSanderson2019": "Ferro, N. and Sanderson, M.: Improving the Accuracy of System Performance Estimation by "
    "Using Shards. SIGIR 2019.",
    "HartungKnapp2001": "Hartung, J. and Knapp, G.: A Refined Method for the Meta-Analysis of Controlled Clinical "
    "Trials with Binary Outcome. Statistics in Medicine 20(24), 2001.",
    "Higgins2009": "Higgins, J. P. T., Thompson, S. G. and Spiegelhalter, D. J.: A Re-Evaluation of Random-Effects "
    "Meta-Analysis. Journal of the Royal Statistical Society A 172(1), 2009.",
    "JarvelinKekalainen2002": "Järvelin, K. and Kekäläinen, J.: Cumulated Gain-Based Evaluation of IR Techniques. "
    "ACM TOIS 20(4), 2002.",
    "KantorVoorhees2000": "Kantor, P. B. and Voorhees, E. M.: The TREC-5 Confusion Track: Comparing Retrieval Methods "
    "for Scanned Text. Information Retrieval 2, 2000.",
    "JennisonTurnbull1989": "Jennison, C. and Turnbull, B. W.: Interim Analyses: The Repeated Confidence Interval "
    "Approach. Journal of the Royal Statistical Society B 51(3), 1989.",
    "Krippendorff2013": "Krippendorff, K.: Content Analysis: An Introduction to Its Methodology, 3rd edition. Sage, "
    "2013.",
    "LinHauptmann2005": "Lin, W.-H. and Hauptmann, A.: Revisiting the Effect of Topic Set Size on Retrieval Error. "
    "SIGIR 2005.",
    "LanDeMets1983": "Lan, K. K. G. and DeMets, D. L.: Discrete Sequential Boundaries for Clinical Trials. Biometrika "
    "70(3), 1983.",
    "MacAvaney2022": "MacAvaney, S., Macdonald, C. and Ounis, I.: Streamlining Evaluation with ir-measures. ECIR 2022.",
    "McNemar1947": "McNemar, Q.: Note on the Sampling Error of the Difference between Correlated Proportions or "
    "Percentages. Psychometrika 12(2), 1947.",
    "Mogstad2024": "Mogstad, M., Romano, J. P., Shaikh, A. M. and Wilhelm, D.: Inference for Ranks with Applications "
    "to Mobility across Neighbourhoods and Academic Achievement across Countries. Review of Economic "
    "Studies 91(1), 2024.",
    "McSherryNajork2008": "McSherry, F. and Najork, M.: Computing Information Retrieval Performance Measures "
    "Efficiently in the Presence of Tied Scores. ECIR 2008.",
    "Moffat2012": "Moffat, A., Scholer, F. and Thomas, P.: Models and Metrics: IR Evaluation as a User Process. "
    "ADCS 2012.",
    "Moffat2015": "Moffat, A., Bailey, P., Scholer, F. and Thomas, P.: INST: An Adaptive Metric for Information "
    "Retrieval Evaluation. ADCS 2015.",
    "MoffatZobel2008": "Moffat, A. and Zobel, J.: Rank-Biased Precision for Measurement of Retrieval Effectiveness. "
    "ACM TOIS 27(1), 2008.",
    "PustejovskyTipton2018": "Pustejovsky, J. E. and Tipton, E.: Small-Sample Methods for Cluster-Robust Variance "
    "Estimation and Hypothesis Testing in Fixed Effects Models. Journal of Business & Economic Statistics 36(4), 2018.",
    "Pradeep2024": "Pradeep, R., Thakur, N., Upadhyay, S., Campos, D., Craswell, N. and Lin, J.: Initial Nugget "
    "Evaluation Results for the TREC 2024 RAG Track with the AutoNuggetizer Framework. arXiv:2411.09607, 2024.",
    "Ragas": "Exploding Gradients: Ragas, version 0.3: Context Precision. https://docs.ragas.io, 2025.",
    "Robertson2006": "Robertson, S.: On GMAP: and Other Transformations. CIKM 2006.",
    "Rijsbergen1979": "van Rijsbergen, C. J.: Information Retrieval, 2nd edition. Butterworths, 1979.",
    "Robbins1970": "Robbins, H.: Statistical Methods Related to the Law of the Iterated Logarithm. Annals of "
    "Mathematical Statistics 41(5), 1970.",
    "RoganGladen1978": "Rogan, W. J. and Gladen, B.: Estimating Prevalence from the Results of a Screening Test. "
    "American Journal of Epidemiology 107(1), 1978.",
    "RomanoWolf2005": "Romano, J. P. and Wolf, M.: Exact and Approximate Stepdown Methods for Multiple Hypothesis "
    "Testing. Journal of the American Statistical Association 100(469), 2005.",
    "Sakai2004": "Sakai, T.: New Performance Metrics Based on Multigrade Relevance: Their Application to Question "
    "Answering. NTCIR-4, 2004.",
    "Sakai2006": "Sakai, T.: Evaluating Evaluation Metrics Based on the Bootstrap. SIGIR 2006.",
    "Sakai2007": "Sakai, T.: On the Properties of Evaluation Metrics for Finding One Highly Relevant Document. "
    "IPSJ TOD 48(SIG9), 2007.",
    "Sakai2014": "Sakai, T.: Topic Set Size Design with Variance Estimates from Two-Way ANOVA. EVIA 2014.",
    "SakaiShang2016": "Sakai, T. and Shang, L.: On Estimating Variances for Topic Set Size Design. EVIA 2016.",
    "SakaiSong2011": "Sakai, T. and Song, R.: Evaluating Diversified Search Results Using Per-Intent Graded Relevance. "
    "SIGIR 2011.",
    "Satterthwaite1946": "Satterthwaite, F. E.: An Approximate Distribution of Estimates of Variance Components. "
    "Biometrics Bulletin 2(6), 1946.",
    "Searle1992": "Searle, S. R., Casella, G. and McCulloch, C. E.: Variance Components. Wiley, 1992.",
    "Smucker2007": "Smucker, M. D., Allan, J. and Carterette, B.: A Comparison of Statistical Significance Tests for "
    "Information Retrieval Evaluation. CIKM 2007.",
    "Student1908": "Student: The Probable Error of a Mean. Biometrika 6(1), 1908.",
    "Tukey1949": "Tukey, J. W.: Comparing Individual Means in the Analysis of Variance. Biometrics 5(2), 1949.",
    "Kramer1956": "Kramer, C. Y.: Extension of Multiple Range Tests to Group Means with Unequal Numbers of "
    "Replications. Biometrics 12(3), 1956.",
    "Welch1947": "Welch, B. L.: The Generalization of «Student's» Problem when Several Different Population Variances "
    "Are Involved. Biometrika 34(1–2), 1947.",
    "Voorhees2017": "Voorhees, E. M., Samarov, D. and Soboroff, I.: Using Replicates in Information Retrieval "
    "Evaluation. ACM TOIS 36(2), 2017.",
    "Urbano2013": "Urbano, J., Marrero, M. and Martín, D.: On the Measurement of Test Collection Reliability. "
    "SIGIR 2013.",
    "TrecEval": "Buckley, C.: trec_eval, version 9. National Institute of Standards and Technology, 2008.",
    "VoorheesBuckley2002": "Voorhees, E. M. and Buckley, C.: The Effect of Topic Set Size on Retrieval Experiment "
    "Error. SIGIR 2002.",
    "WaudbySmithRamdas2024": "Waudby-Smith, I. and Ramdas, A.: Estimating Means of Bounded Random Variables by "
    "Betting. JRSS B 86(1), 2024.",
    "PauleMandel1982": "Paule, R. C. and Mandel, J.: Consensus Values and Weighting Factors. Journal of Research of "
    "the National Bureau of Standards 87(5), 1982.",
    "Webber2008": "Webber, W., Moffat, A. and Zobel, J.: Statistical Power in Retrieval Experimentation. CIKM 2008.",
    "WebberMoffatZobel2008": "Webber, W., Moffat, A. and Zobel, J.: Score Standardization for Inter-Collection "
    "Comparison of Retrieval Systems. SIGIR 2008.",
    "Webber2010": "Webber, W., Moffat, A. and Zobel, J.: A Similarity Measure for Indefinite Rankings. ACM TOIS 28(4), "
    "2010.",
    "Wilcoxon1945": "Wilcoxon, F.: Individual Comparisons by Ranking Methods. Biometrics Bulletin 1(6), 1945.",
    "YilmazAslam2006": "Yilmaz, E. and Aslam, J. A.: Estimating Average Precision with Incomplete and Imperfect "
    "Judgments. CIKM 2006.",
    "Yilmaz2008": "Yilmaz, E., Aslam, J. A. and Robertson, S.: A New Rank Correlation Coefficient for Information "
    "Retrieval. SIGIR 2008.",
    "YilmazKanoulasAslam2008": "Yilmaz, E., Kanoulas, E. and Aslam, J. A.: A Simple and Efficient Sampling Method for "
    "Estimating AP and NDCG. SIGIR 2008.",
    "Zhang2017": "Zhang, F., Liu, Y., Li, X., Zhang, M., Xu, Y. and Ma, S.: Evaluating Web Search with a Bejeweled "
    "Player Model. SIGIR 2017.",
    "SilvermanYoung1987": "Silverman, B. W. and Young, G. A.: The Bootstrap: To Smooth or Not to Smooth? Biometrika "
    "74, 1987.",
    "UrbanoNagler2018": "Urbano, J. and Nagler, T.: Stochastic Simulation of Test Collections: Evaluation Scores. "
    "SIGIR 2018.",
    "Wilson1927": "Wilson, E. B.: Probable Inference, the Law of Succession, and Statistical Inference. Journal of the "
    "American Statistical Association 22, 1927.",
    "Dunnett1955": "Dunnett, C. W.: A Multiple Comparison Procedure for Comparing Several Treatments with a Control. "
    "Journal of the American Statistical Association 50, 1955.",
    "Holm1979": "Holm, S.: A Simple Sequentially Rejective Multiple Test Procedure. Scandinavian Journal of Statistics "
    "6(2), 1979.",
    "KupperHafner1989": "Kupper, L. L. and Hafner, K. B.: How Appropriate Are Popular Sample Size Formulas. The "
    "American Statistician 43(2), 1989.",
    "Schuirmann1987": "Schuirmann, D. J.: A Comparison of the Two One-Sided Tests Procedure and the Power Approach for "
    "Assessing the Equivalence of Average Bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15(6), "
    "1987.",
}

LOCATIONS: dict[str, tuple[str, str]] = {
    "Aas2009": ("182–198", "10.1016/j.insmatheco.2007.02.001"),
    "BuckleyVoorhees2004": ("25–32", "10.1145/1008992.1009000"),
    "Carterette2012": ("4:1–4:34", "10.1145/2094072.2094076"),
    "Chapelle2009": ("621–630", "10.1145/1645953.1646033"),
    "Cohen1968": ("213–220", "10.1037/h0026256"),
    "Demsar2006": ("1–30", ""),
    "DerSimonianLaird1986": ("177–188", "10.1016/0197-2456(86)90046-2"),
    "Dunnett1955": ("1096–1121", "10.1080/01621459.1955.10501294"),
    "Dunnett1964": ("482–491", ""),
    "HartungKnapp2001": ("3875–3889", "10.1002/sim.1009"),
    "Higgins2009": ("137–159", "10.1111/j.1467-985X.2008.00552.x"),
    "Holm1979": ("65–70", ""),
    "JarvelinKekalainen2002": ("422–446", "10.1145/582415.582418"),
    "LanDeMets1983": ("659–663", "10.1093/biomet/70.3.659"),
    "McNemar1947": ("153–157", "10.1007/BF02295996"),
    "MoffatZobel2008": ("2:1–2:27", "10.1145/1416950.1416952"),
    "Mogstad2024": ("", "10.1093/restud/rdad006"),
    "PauleMandel1982": ("377–385", "10.6028/jres.087.022"),
    "PustejovskyTipton2018": ("672–683", "10.1080/07350015.2016.1247004"),
    "Robbins1970": ("1397–1409", "10.1214/aoms/1177696786"),
    "RomanoWolf2005": ("94–108", "10.1198/016214504000000539"),
    "Sakai2006": ("525–532", "10.1145/1148170.1148261"),
    "Satterthwaite1946": ("110–114", "10.2307/3002019"),
    "Schuirmann1987": ("657–680", "10.1007/BF01068419"),
    "Smucker2007": ("623–632", "10.1145/1321440.1321528"),
    "Student1908": ("1–25", "10.1093/biomet/6.1.1"),
    "Tukey1949": ("99–114", "10.2307/3001913"),
    "Kramer1956": ("307–310", "10.2307/3001469"),
    "Welch1947": ("28–35", "10.1093/biomet/34.1-2.28"),
    "Urbano2013": ("393–402", "10.1145/2484028.2484038"),
    "UrbanoNagler2018": ("", "10.1145/3209978.3210043"),
    "Voorhees2017": ("12:1–12:21", ""),
    "VoorheesBuckley2002": ("316–323", "10.1145/564376.564432"),
    "WaudbySmithRamdas2024": ("1–27", "10.1093/jrsssb/qkad009"),
    "Webber2008": ("571–580", "10.1145/1458082.1458158"),
    "Webber2010": ("20:1–20:38", "10.1145/1852102.1852106"),
    "Wilcoxon1945": ("80–83", "10.2307/3001968"),
    "Wilson1927": ("209–212", "10.1080/01621459.1927.10502953"),
    "Yilmaz2008": ("587–594", "10.1145/1390334.1390435"),
}
"""Pages and DOI of references, where they were looked up; empty where they are not known, or there is none."""

ROBUST_CITATIONS = ("BellMcCaffrey2002", "PustejovskyTipton2018")
"""Of standard errors of clusters."""


CITED = re.compile(r"\[(@[A-Za-z0-9]+(?:; @[A-Za-z0-9]+)*)\]")  # Pandoc's citation syntax, used in the methods text
_AUTHOR = re.compile(r"[^,]+, (?:\w\.[ -]?)+")  # a family name, then initials
_JOURNAL = re.compile(r"(?P<journal>.+?) (?P<volume>\d+)(?:\((?P<number>[^)]+)\))?(?:, (?:pp\. )?(?P<pages>[\d–-]+))?")
_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_"}


def cite_in_words(text: str) -> str:
    """Replace citations by authors and year.

    >>> cite_in_words("by two-way ANOVA [@Sakai2014; @Webber2008]")
    'by two-way ANOVA (Sakai 2014; Webber et al. 2008)'
    """
    return CITED.sub(_in_words, text)


def _in_words(cited: re.Match[str]) -> str:
    keys = keys_of(cited[1])
    return f"({'; '.join(map(_short, keys))})" if keys else cited[0]


def keys_of(cited: str) -> list[str]:
    """The keys of a citation, in order; none if there is one that is no reference, as in a name of a system."""
    keys = [key.removeprefix("@") for key in cited.split("; ")]
    return keys if all(key in REFERENCES for key in keys) else []


def cited_keys(text: str) -> list[str]:
    """The keys that a text cites, each once."""
    return list(dict.fromkeys(key for cited in CITED.findall(text) for key in keys_of(cited)))


def _short(key: str) -> str:
    _, fields = bibtex_fields(REFERENCES[key])
    families = [person.partition(",")[0] for person in fields["author"].split(" and ")]
    who = f"{families[0]} et al." if len(families) > 2 else " and ".join(families)
    return f"{who} {fields['year']}"


def to_bibtex(keys: Sequence[str]) -> str:
    """Return an entry for every key, for a ``.bib`` file in UTF-8."""
    return "\n\n".join(bibtex_entry(key, REFERENCES[key]) for key in keys)


def bibtex_entry(key: str, reference: str) -> str:
    """Return one entry.

    >>> print(bibtex_entry("Webber2008", REFERENCES["Webber2008"]))
    @inproceedings{Webber2008,
      author = {Webber, W. and Moffat, A. and Zobel, J.},
      title = {{Statistical Power in Retrieval Experimentation}},
      booktitle = {CIKM},
      year = {2008},
      pages = {571--580},
      doi = {10.1145/1458082.1458158}
    }
    """
    kind, fields = bibtex_fields(reference)
    pages, doi = LOCATIONS.get(key, ("", ""))
    known = {"pages": pages.replace("–", "--"), "doi": doi}
    fields |= {name: value for name, value in known.items() if value}
    lines = [f"  {name} = {{{_escape(value)}}}" for name, value in fields.items()]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def bibtex_fields(reference: str) -> tuple[str, dict[str, str]]:
    """Return the type of an entry and its fields, from «Authors: Title. Where, year.»."""
    authors, _, rest = reference.partition(": ")
    title, _, place = rest.partition("? " if "? " in rest.split(". ")[0] else ". ")
    title += "?" * rest.startswith(f"{title}?")
    year = re.findall(r"\b(?:19|20)\d\d\b", place)[-1]
    where = place[: place.rindex(year)].rstrip(" ,")
    kind, fields = _where(where)
    # Two braces preserve the capitals of a title.
    return kind, {"author": _authors(authors), "title": f"{{{title}}}", **fields, "year": year}


def _authors(text: str) -> str:
    people = _AUTHOR.findall(text.replace(" and ", ", "))
    return " and ".join(person.strip(" ,") for person in people) or text


def _where(text: str) -> tuple[str, dict[str, str]]:
    """Find the type: a chapter has «In:», a journal a volume, a publisher no digits; all else are proceedings."""
    if text.startswith("In: "):
        book, _, publisher = text[4:].rpartition(", ")
        return "incollection", {"booktitle": book, "publisher": publisher}
    journal = _JOURNAL.fullmatch(text)
    if journal is not None:
        return "article", {name: value for name, value in journal.groupdict().items() if value}
    if re.search(r"\d", text) or text.isupper():
        return "inproceedings", {"booktitle": text}
    return "book", {"publisher": text}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(mark, mark) for mark in text)
