"""Claims of the invariance experiment, from the results of its runs."""

from __future__ import annotations

from unbraid.study.claims import Claim, Record, judge, noted
from unbraid.study.reproduce import Found, Results

from .figures import draw
from .tables import (
    ANGLES,
    BASELINES,
    COLORED,
    FREE,
    SCHEMES,
    TABLES,
    TURNED,
    WARM_UPS,
    WEAK,
    at_angle,
    average_accuracy,
    by_chance,
    each,
    mean,
    metric,
    of,
    probe,
    worst_accuracy,
)


def record(found: Found) -> Record:
    return Record(
        title="Pairs, swaps and contrast, small: disentangled and invariant codes",
        about=found.notes[""],
        command=found.command,
        seconds=found.seconds,
        claims=noted(claims(found.results), found.notes),
        tables=[table(found.results) for table in TABLES],
        pictures=draw(found.results, found.pictures),
    )


def claims(r: Results) -> list[Claim]:
    return [*colour_claims(r), angle_claim(r), scheme_claim(r), *shape_claims(r), block_claim(r)]


def colour_claims(r: Results) -> list[Claim]:
    worst = {m: worst_accuracy(r, m, COLORED) for m in (*BASELINES, "Swap")}
    average = {m: average_accuracy(r, m, COLORED) for m in (*BASELINES, "Swap")}
    fall = {m: average[m] - worst[m] for m in worst}
    best = max(BASELINES, key=lambda m: float(worst[m].mean()))
    gain_worst, gain_average = worst["Swap"] - worst["Baseline"], average["Swap"] - average["Baseline"]
    return [
        judge(
            "002-1",
            "unseen grounds: the worst group keeps .904; plain CNN .662, the best of others (UAI) .743",
            f"worst {mean(worst['Swap'])}; CNN {mean(worst['Baseline'])}, the best of others ({best}) "
            f"{mean(worst[best])}; average less worst {mean(fall['Swap'])} for {mean(fall[best])}",
            *(worst["Swap"] - worst[m] for m in BASELINES),
            *(fall[m] - fall["Swap"] for m in BASELINES),
        ),
        judge(
            "002-2",
            "the average gains little (.951 to .980), the worst group much (.662 to .904)",
            f"average {mean(gain_average, True)}, worst {mean(gain_worst, True)}",
            gain_worst,
            gain_worst - gain_average,
        ),
        judge(
            "002-3",
            "a CNN with a beta-VAE on top is worse on average: .9265 for .9512",
            f"{mean(average['beta-VAE'])} for {mean(average['Baseline'])} (half a point more is allowed)",
            average["Baseline"] + 0.005 - average["beta-VAE"],
        ),
    ]


def angle_claim(r: Results) -> Claim:
    ours, plain = ({a: at_angle(r, m, a, "worst") for a in ANGLES} for m in ("Swap", "Baseline"))
    average = {a: at_angle(r, "Swap", a, "average") for a in ANGLES}
    return judge(
        "002-4",
        "unseen angles: the worst group gains at all four (.623, .775, .658, .499 to .753, .857, .823, .633); 75 is "
        "harder than 65",
        f"{each(plain)} to {each(ours)}; averages {each(average)}",
        *(ours[a] - plain[a] for a in ANGLES),
        average["-65"] - average["-75"],
        average["+65"] - average["+75"],
    )


def scheme_claim(r: Results) -> Claim:
    labels = (label for label, _, _ in SCHEMES.values())
    ce, joint, apart = ((worst_accuracy(r, m, COLORED), at_angle(r, m, "+65", "worst")) for m in labels)
    return judge(
        "002-5",
        "worst group: trained apart .904 (.823 at +65), jointly .732 (.678), cross-entropy alone .680 (.653)",
        f"apart {mean(apart[0])} ({mean(apart[1])}), jointly {mean(joint[0])} ({mean(joint[1])}), alone "
        f"{mean(ce[0])} ({mean(ce[1])}) (jointly may be a point below alone)",
        *(a - b for a, b in zip(apart, joint, strict=True)),
        *(a - b + 0.01 for a, b in zip(joint, ce, strict=True)),
    )


def shape_claims(r: Results) -> list[Claim]:
    warm = {name: [metric(r, label, name) for label in WARM_UPS] for name in ("mig", "dci")}
    mig = {m: metric(r, m, "mig") for m in (*WEAK, *FREE)}
    best = max(FREE, key=lambda m: float(mig[m].mean()))
    least = min(WEAK, key=lambda m: float(mig[m].mean()))
    return [
        judge(
            "002-6",
            "warm-ups raise MIG .49, .51, .72 and DCI .70, .78, .92 (none, by amount, by amount and difficulty)",
            "; ".join(f"{name.upper()} {', '.join(map(mean, values))}" for name, values in warm.items())
            + " (by amount may be a point below none)",
            *(values[2] - values[1] for values in warm.values()),
            *(values[1] - values[0] + 0.01 for values in warm.values()),
        ),
        judge(
            "002-7",
            "weakly supervised MIG is at least .509, unsupervised at most .364",
            f"at least {mean(mig[least])} ({least}), at most {mean(mig[best])} ({best})",
            *(mig[weak] - mig[free] for weak in WEAK for free in FREE),
        ),
        judge(
            "002-8",
            "MIG: swap .716, Ada-GVAE .569, Ada-ML-VAE .509",
            ", ".join(f"{m} {mean(mig[m])}" for m in WEAK),
            mig["Swap"] - mig["Ada-GVAE"],
            mig["Ada-GVAE"] - mig["Ada-ML-VAE"],
        ),
    ]


def block_claim(r: Results) -> Claim:
    """A nuisance from p within 10 points of chance, from n 25 points above it; the digit more from p than from n."""
    told, margins = [], []
    nuisances = ((TURNED, "angle"), *((data, name) for data in (TURNED, COLORED) for name in ("background", "colour")))
    for data, factor in nuisances:
        p, n, chance = probe(r, data, "p", factor), probe(r, data, "n", factor), by_chance(r, data, factor)
        name = f"{factor} of turned digits" if data == TURNED else factor
        told.append(f"{name} {mean(p)} from p, {mean(n)} from n, {mean(chance)} by chance")
        margins += [chance + 0.10 - p, n - chance - 0.25]
    for data in (TURNED, COLORED):
        p, n = probe(r, data, "p", "digit"), probe(r, data, "n", "digit")
        told.append(f"digit {mean(p)} from p, {mean(n)} from n")
        margins.append(p - n)
    paper = "p holds no rotation and no colour, n does; the digit is in p (figures)"
    drawn = [mean(of(r, "Swap", COLORED, "drawn", block)) for block in "pn"]
    told.append(f"another image's p changes a drawn pixel by {drawn[0]} of 255, another's n by {drawn[1]}")
    return judge("002-11", paper, "; ".join(told) + " (linear probes on test images)", *margins)
