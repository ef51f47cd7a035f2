"""Symbolic forms of the paper's Tables 1 to 3, in LaTeX, by mechanism (Appendix A)."""

NAMES = {"krr": "k-RR", "blh": "BLH", "rappor": "RAPPOR", "oue": "OUE", "hadamard": "HR"}

# How the paper writes p in most rows, and all three of p, q and r for Hadamard response.
COMMON = r"\frac{1}{2(e^{\varepsilon_0}+1)}"

FINITE = {
    "krr": (
        r"\frac{1}{e^{\varepsilon_0}+k-1}",
        "0",
        r"\frac{k-2}{e^{\varepsilon_0}+k-1}",
    ),
    "blh": (
        COMMON,
        COMMON + r"-\frac{1}{2^{D-1}(e^{\varepsilon_0}+1)}",
        COMMON + r"+\frac{e^{\varepsilon_0}}{2^{D-1}(e^{\varepsilon_0}+1)}",
    ),
    "rappor": (
        r"\frac{1}{(e^{\varepsilon_0/2}+1)^{2}}",
        r"\frac{e^{-\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{2}}"
        r"-\frac{e^{-\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{D}}",
        r"\frac{e^{\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{2}}"
        r"+\frac{e^{\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{D}}",
    ),
    "oue": (
        COMMON,
        r"\frac{e^{-\varepsilon_0}}{2(e^{\varepsilon_0}+1)}"
        r"-\frac{e^{-\varepsilon_0}}{2(e^{\varepsilon_0}+1)^{D-1}}",
        r"\frac{e^{\varepsilon_0}}{2(e^{\varepsilon_0}+1)}+\frac{1}{2(e^{\varepsilon_0}+1)^{D-1}}",
    ),
    "hadamard": (
        COMMON,
        COMMON + r"-\frac{2}{K(e^{\varepsilon_0}+1)}",
        COMMON + r"+\frac{2e^{\varepsilon_0}}{K(e^{\varepsilon_0}+1)}",
    ),
}

LIMIT = {
    "blh": (COMMON, COMMON, COMMON),
    "rappor": (
        r"\frac{1}{(e^{\varepsilon_0/2}+1)^{2}}",
        r"\frac{1}{e^{\varepsilon_0/2}(e^{\varepsilon_0/2}+1)^{2}}",
        r"\frac{e^{\varepsilon_0/2}}{(e^{\varepsilon_0/2}+1)^{2}}",
    ),
    "oue": (
        COMMON,
        r"\frac{1}{2e^{\varepsilon_0}(e^{\varepsilon_0}+1)}",
        r"\frac{e^{\varepsilon_0}}{2(e^{\varepsilon_0}+1)}",
    ),
    "hadamard": (COMMON, COMMON, COMMON),
}

# What the blanket leaves over, 1 − 2p − q − r: the mass of the GPARV at 0.
RESIDUAL = {
    "krr": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+k-1}",
    "blh": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}",
    "rappor": r"1-e^{-\varepsilon_0/2}",
    "oue": r"\frac{1}{2}(1-e^{-\varepsilon_0})",
    "hadamard": r"\frac{e^{\varepsilon_0}-1}{e^{\varepsilon_0}+1}",
}

POINTS = (
    r"1-e^{\varepsilon_0+\varepsilon}",
    r"e^{\varepsilon_0}-e^{\varepsilon_0+\varepsilon}",
    r"1-e^{\varepsilon}",
    "0",
    r"e^{\varepsilon_0}-e^{\varepsilon}",
)
