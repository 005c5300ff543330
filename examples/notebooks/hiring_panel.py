# %% [markdown]
# # Audit a hiring panel
#
# A panel of judges compares applicants, a model learned from last year's judgments, and nobody
# knows who is best. The world is simulated (`comparity.datasets.simulated`), so that everything
# found can be put beside what is true. `comparity demo` tells the same story at full size.

# %%
import numpy as np

from comparity import FairRanker, barp, comparative_separation
from comparity.datasets.simulated import Hiring
from comparity.ranking.panel import audit_against_panel

world = Hiring()
rng = np.random.default_rng(5)
year = world.draw(n_items=1500, n_judgments=22_500, rng=rng, prefix="a")
judges = world.judge_names[year.judges]
print(f"{world.n_leaning} of {world.n_judges} judges add {world.lean} logits to men")
print("a model sees:", ", ".join(world.features))

# %% [markdown]
# A logistic regression on differences of features: what anyone would train on such judgments.

# %%
from sklearn.linear_model import LogisticRegression

better, worse = year.features[year.pairs.T]
turned = np.where(np.arange(len(better)) % 2, 1, -1)
learned = LogisticRegression(fit_intercept=False).fit((better - worse) * turned[:, None], turned)
scores = year.features @ learned.coef_[0]
dict(zip(world.features, learned.coef_[0].round(2).tolist(), strict=True))

# %% [markdown]
# ## Against the judgments as given

# %%
audit = comparative_separation(
    year.pairs, scores=scores, sensitive_features=year.sex, evaluators=judges
)
truth = world.gaps_with_judges(learned.coef_[0].tolist())
for test in audit.tests:
    print(f"{test.null}: {test.gap:+.3f} (in truth {truth[test.null]:+.3f}), {test.finding}")

# %% [markdown]
# ## Who leans?
#
# The common level of the biases is an assumption: here, that women and men are equally good on
# average. It is so in this world. With data of your own it is yours to defend.

# %%
fit = barp(year.pairs, evaluators=judges, sensitive_features=year.sex)
found = {name for name, q in zip(fit.evaluators, fit.q[:, 0], strict=True) if q <= 0.05}
lean = {str(name) for name, one in zip(world.judge_names, world.leans, strict=True) if one > 0}
print(
    f"{len(found & lean)} of {len(lean)} who lean are found; {len(found - lean)} others are accused"
)

# %% [markdown]
# ## Against the panel adjusted for bias

# %%
adjusted = audit_against_panel(fit, scores, sensitive_features=year.sex)
truth = world.gaps_with_quality(learned.coef_[0].tolist())
for test in adjusted.tests:
    low, high, level = test.interval(test.level)
    print(
        f"{test.null}: {test.gap:+.3f} [{low:+.3f}, {high:+.3f}] "
        f"(in truth {truth[test.null]:+.3f}), {test.finding}"
    )

# %%
adjusted.plot()

# %% [markdown]
# ## Train again
#
# On bias-adjusted scores, with mixed pairs alike up to 0.01. What the constraint costs is in the
# table; whether it holds is for an audit on applicants that were not trained on.

# %%
ranker = FairRanker(goal="cross-group", slack=0.01, steps=200, random_state=0)
ranker.fit(year.features, fit.scores, sensitive_features=year.sex)
ranker.training_

# %%
fresh = world.draw(n_items=1500, n_judgments=22_500, rng=rng, prefix="z")
fresh_fit = barp(
    fresh.pairs, evaluators=world.judge_names[fresh.judges], sensitive_features=fresh.sex
)
for name, weights in {"first": learned.coef_[0], "revised": ranker.coef_}.items():
    again = audit_against_panel(fresh_fit, fresh.features @ weights, sensitive_features=fresh.sex)
    truth = next(iter(world.gaps_with_quality(weights.tolist()).values()))
    print(f"{name}: {again.tests[0].gap:+.3f} (in truth {truth:+.3f}), {again.finding}")
