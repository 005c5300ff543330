# %% [markdown]
# # Choose metrics
#
# Thirty metrics of fairness are in wide use, and they contradict each other. Which few belong in
# a report? The question is older than this tool; the answer here follows Majumder et al., "Fair
# Enough": metrics fall into clusters that move together, so report one of each cluster that
# matters, and say why.

# %%
import numpy as np

from comparity import fairness_metrics, separation

rng = np.random.default_rng(3)
n = 4000
sex = rng.choice(["f", "m"], n)
good = rng.random(n) < np.where(sex == "m", 0.5, 0.4)
score = good + rng.normal(0, 0.8, n) - 0.15 * (sex == "f")
hired = score > 0.5

# %% [markdown]
# ## All of them
#
# One count of the data gives all metrics, each with an interval. The published ranges are
# conventions: nothing is judged by them.

# %%
card = fairness_metrics(good, hired, sensitive_features=sex, privileged="m", kinds=["group"])
outside = [one for one in card.metrics if one.place == "outside"]
print(f"{len(outside)} of {len(card.metrics)} lie outside their published range, among them")
for one in outside[:5]:
    low, high, _ = one.interval
    print(f"  {one.id} {one.name}: {one.value:+.3f} [{low:+.3f}, {high:+.3f}]")

# %% [markdown]
# ## The few to report
#
# Group fairness matters here. One metric of each cluster is chosen, with the reason; where
# metrics of a cluster disagree about these data, one from either side.

# %%
for one in card.selection.chosen:
    print(f"{one.id} {card[one.id].name}: {one.reason}")

# %%
card.plot()

# %% [markdown]
# ## A number is not a verdict
#
# If a decision hangs on it, test. Equal error rates are one notion, with a false-alarm rate over
# both tests together and a margin that you choose:

# %%
audit = separation(good, hired, sensitive_features=sex, margin=0.05)
for test in audit.tests:
    low, high, level = test.interval(test.level)
    print(f"{test.null}: {test.gap:+.3f} [{low:+.3f}, {high:+.3f}], {test.finding}")
audit.finding

# %% [markdown]
# ## Another threshold
#
# Would a lower threshold for women help? `compare` says of each metric whether it would move
# towards its ideal value or away. Some do one, some the other: that is what contradiction means.

# %%
lowered = score > np.where(sex == "f", 0.35, 0.5)
moves = fairness_metrics(good, hired, sensitive_features=sex, privileged="m", compare=lowered)
for one in moves.comparison.changes[:8]:
    print(f"{one.id} {one.name}: {one.before:+.3f} to {one.after:+.3f}, {one.moved}")
