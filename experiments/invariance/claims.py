"""Claims of the invariance experiment, from the results of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from unbraid.reproduce import results
from unbraid.reproduce.invariance_figures import draw
from unbraid.reproduce.invariance_tables import (
    ANGLES,
    BASELINES,
    COLORED,
    FREE,
    SCHEMES,
    TABLES,
    TURNED,
    WARM_UPS,
    WEAK,
    Results,
    each,
    mean,
)
from unbraid.reproduce.results import Claim, Record, Result

ABOUT = """
Real MNIST in fixed colours (three grounds to train on, three others to test on) and turned; 3D Shapes at 32x32. The
paper gives no network, size, weight, palette or length of training: here encoders have two convolutions of 16 and 32
channels (digits) or three (shapes) and 256 units, Adam at 1e-3, 1,500 steps of 64 pairs or 128 images on digits and
3,000 steps of 64 on shapes; UAI has 3 steps of its adversary for each of the model (10 in its code). Digit pairs differ
in one factor, so that warm-up is by amount alone. The weight of the contrastive loss, 300, was chosen on seed 0 of
Colored-MNIST by test accuracy, with the loss taken of means (30: .87 / .40, 100: .93 / .67, 300: .96 / .88, 1,000: .97
/ .90). It is taken of samples here, though that was worse on seed 0 (.95 / .78): with means p shrinks to nothing, the
decoder reads n alone, and two of the loss's four terms are idle. Tables 1 and 2 have it of means too, without warm-up.
CAI's gamma, 0.1, was chosen likewise (1, at which training blows up: .59 / .04, 0.1: .97 / .91, 0.03: .97 / .91); the
other baselines were not tuned. Seed 0 is not among those of digits below. The test grounds were chosen so that the
plain CNN loses a good part of its worst group (mean .57 of seeds 0 and 1). Not done: classes of 3D Shapes and all of
MPI3D (parts of tables 1 and 3). Accuracy is on test digits with unseen grounds (and angles); the worst is over cells of
digit and ground. Weakly supervised methods see the same pairs. Numbers are means over seeds; an interval is Student's t
over seeds for the margin by which the claim holds (above zero: it holds), the least one where several must.
"""
NOTES = {  # what was found where a claim does not hold
    "002-1": (
        "Every model reads unseen grounds by the luck of its seed: the CNN's worst group was .87 with seed 0, "
        "and is .22 to .33 here. p of the swap model tells the digit there (.96 by a linear probe) but is "
        "shifted by colours that no loss has seen (it tells the ground, .64), and the classifier errs. No "
        "error was found in the loss; longer training was not tried."
    ),
    "002-2": "Follows from 002-1.",
    "002-3": "Below in two seeds of three.",
    "002-4": (
        "Ground and angle are new at once, and the worst cells of all models are near 0. The swap model loses "
        "by the ground, not by the angle (which change costs, below). With its contrast of means it gains on "
        "the CNN at three angles of four, and is the best of all models at +65 and +75."
    ),
    "002-5": (
        "On unseen grounds apart is below jointly in all three seeds. With the contrast of means, apart is as "
        "good as jointly (.47)."
    ),
    "002-6": "Seeds differ more than warm-ups do.",
    "002-7": (
        "Pairs are better than six of the seven methods without them; beta-TCVAE is as good. MIG of pairs is "
        "a third to a half below the paper's, whose length of training is not known."
    ),
    "002-8": "Within the spread of seeds. The swap model has the highest IRS, as in the paper.",
    "002-11": (
        "The ground is in n and the digit in p, though not in p alone. The colour of strokes is in neither: "
        "after 1,500 steps all digits are drawn nearly white (figure 8)."
    ),
}
judge = partial(results.judge, notes=NOTES)


def record(found: Sequence[Result], out: Path) -> Record:
    r = Results(found)
    return Record(
        title="Pairs, swaps and contrast, small: disentangled and invariant codes",
        about=ABOUT,
        command="unbraid reproduce invariance",
        seconds=sum(result["seconds"] for result in found),
        claims=claims(r),
        tables=[table(r) for table in TABLES],
        pictures=draw(found, out),
    )


def claims(r: Results) -> list[Claim]:
    return [*colour_claims(r), angle_claim(r), scheme_claim(r), *shape_claims(r), block_claim(r)]


def colour_claims(r: Results) -> list[Claim]:
    worst = {m: r.worst(m, COLORED) for m in (*BASELINES, "Swap")}
    average = {m: r.average(m, COLORED) for m in (*BASELINES, "Swap")}
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
    ours, plain = ({a: r.at(m, a, "worst") for a in ANGLES} for m in ("Swap", "Baseline"))
    average = {a: r.at("Swap", a, "average") for a in ANGLES}
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
    ce, joint, apart = ((r.worst(label, COLORED), r.at(label, "+65", "worst")) for label, _, _ in SCHEMES.values())
    return judge(
        "002-5",
        "worst group: trained apart .904 (.823 at +65), jointly .732 (.678), cross-entropy alone .680 (.653)",
        f"apart {mean(apart[0])} ({mean(apart[1])}), jointly {mean(joint[0])} ({mean(joint[1])}), alone "
        f"{mean(ce[0])} ({mean(ce[1])}) (jointly may be a point below alone)",
        *(a - b for a, b in zip(apart, joint, strict=True)),
        *(a - b + 0.01 for a, b in zip(joint, ce, strict=True)),
    )


def shape_claims(r: Results) -> list[Claim]:
    warm = {name: [r.metric(label, name) for label in WARM_UPS] for name in ("mig", "dci")}
    mig = {m: r.metric(m, "mig") for m in (*WEAK, *FREE)}
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
        p, n, chance = r.probe(data, "p", factor), r.probe(data, "n", factor), r.chance(data, factor)
        name = f"{factor} of turned digits" if data == TURNED else factor
        told.append(f"{name} {mean(p)} from p, {mean(n)} from n, {mean(chance)} by chance")
        margins += [chance + 0.10 - p, n - chance - 0.25]
    for data in (TURNED, COLORED):
        p, n = r.probe(data, "p", "digit"), r.probe(data, "n", "digit")
        told.append(f"digit {mean(p)} from p, {mean(n)} from n")
        margins.append(p - n)
    paper = "p holds no rotation and no colour, n does; the digit is in p (figures)"
    drawn = [mean(r.of("Swap", COLORED, "drawn", block)) for block in "pn"]
    told.append(f"another image's p changes a drawn pixel by {drawn[0]} of 255, another's n by {drawn[1]}")
    return judge("002-11", paper, "; ".join(told) + " (linear probes on test images)", *margins)
