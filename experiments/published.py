"""The published results, by the paper's table numbers. Accuracies are percentages in the paper and
shares here.
"""

from __future__ import annotations

PARTS = ("train", "valid", "test")

# Tables 3 and 5: synthetic sets, known points; training, validation and test score.
KNOWN = {
    "clf_case1": {
        "linear SVM": (0.5322, 0.5493, 0.5431),
        "Gaussian SVM": (0.7630, 0.7569, 0.7397),
        "mixture": (0.7866, 0.8053, 0.7823),
    },
    "clf_case2": {
        "linear SVM": (0.4935, 0.5005, 0.5064),
        "Gaussian SVM": (0.9583, 0.9497, 0.9380),
        "mixture": (0.9766, 0.9802, 0.9669),
    },
    "reg_case1": {
        "least squares": (0.6514, 0.6460, 0.5958),  # printed as "linear SVR"
        "Gaussian SVR": (0.9737, 0.9720, 0.9715),
        "mixture": (0.9984, 0.9986, 0.9984),
    },
    "reg_case2": {
        "least squares": (0.0002, -0.0052, -0.0083),
        "Gaussian SVR": (0.9433, 0.9396, 0.9385),
        "mixture": (0.9933, 0.9935, 0.9933),
    },
}

# Tables 7 and 8: the same sets, points learned.
LEARNED = {
    "clf_case1": (0.779570, 0.794730, 0.770820),
    "clf_case2": (0.967860, 0.968460, 0.952410),
    "reg_case1": (0.9955, 0.9983, 0.9956),
    "reg_case2": (0.9884, 0.9883, 0.9884),
}

# Tables 4, 6, 7 and 8: Gibbs risk on the training rows, and the bound's core component.
RISKS_KNOWN = {
    "clf_case1": (0.2918, 0.3236),
    "clf_case2": (0.1592, 0.2320),
    "reg_case1": (0.0117, 0.0265),
    "reg_case2": (0.0103, 0.0463),
}
RISKS_LEARNED = {
    "clf_case1": (0.2948, 0.3421),
    "clf_case2": (0.1588, 0.2563),
    "reg_case1": (0.0160, 0.0370),
    "reg_case2": (0.0264, 0.0865),
}

# Table 9: test accuracy, n = 1, 2; League of Experts with 2, 3 experts.
CLASSIFICATION = {
    "banana": {"n=1": 0.8348, "n=2": 0.8733, "LoE 2": 0.7263, "LoE 3": 0.7746},
    "wdbc": {"n=1": 0.9395, "n=2": 0.9337, "LoE 2": 0.9372, "LoE 3": 0.9256},
    "german": {"n=1": 0.7367, "n=2": 0.7367, "LoE 2": 0.7200, "LoE 3": 0.7080},
    "phoneme": {"n=1": 0.7950, "n=2": 0.8018, "LoE 2": 0.7705, "LoE 3": 0.7900},
    "ring": {"n=1": 0.9460, "n=2": 0.8852, "LoE 2": 0.7752, "LoE 3": 0.7884},
    "saheart": {"n=1": 0.6843, "n=2": 0.6800, "LoE 2": 0.6843, "LoE 3": 0.6986},
    "spectfheart": {"n=1": 0.7829, "n=2": 0.7756, "LoE 2": 0.7707, "LoE 3": 0.7781},
    "twonorm": {"n=1": 0.9798, "n=2": 0.9794, "LoE 2": 0.9778, "LoE 3": 0.9750},
}

# Table 10: test R2, n = 0 .. 4; least squares (printed as "L SVR"); Gaussian SVR.
REGRESSION = {
    name: dict(
        zip(
            ("n=0", "n=1", "n=2", "n=3", "n=4", "least squares", "Gaussian SVR"),
            values,
            strict=True,
        )
    )
    for name, values in {
        "autoMPG8": (0.64, 0.65, 0.66, 0.65, 0.65, 0.64, 0.66),
        "baseball": (0.63, 0.63, 0.58, 0.61, 0.62, 0.65, 0.61),
        "concrete": (0.74, 0.74, 0.70, 0.73, 0.73, 0.74, 0.81),
        "dee": (0.75, 0.75, 0.75, 0.74, 0.72, 0.75, 0.77),
        "laser": (0.72, 0.73, 0.74, 0.75, 0.77, 0.73, 0.91),
        "stock": (0.62, 0.68, 0.75, 0.52, 0.75, 0.63, 0.85),
        "treasury": (0.99, 0.99, 0.99, 0.98, 0.99, 0.99, 0.99),
        "wizmir": (0.88, 0.90, 0.88, 0.88, 0.88, 0.89, 0.88),
    }.items()
}
REAL = CLASSIFICATION | REGRESSION
OWN = ("n=0", "n=1", "n=2", "n=3", "n=4")  # the columns of the paper's own method
