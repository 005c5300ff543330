# %% [markdown]
# # Audit an LLM judge
#
# Answers of language models are compared two at a time, by people and by a language model as a
# judge. A reward model was trained on such comparisons. Two questions:
#
# 1. Does the judge lean: toward long answers, or toward the one it is shown first?
# 2. Does the reward model agree with *people* equally often, whether the better answer is long or
# short?
#
# The data are simulated, so that the answers are known. An evaluator is a judge, answer length is
# a group, the place on the screen is a seat; nothing else changes from hiring panels to language
# models.

# %%
import numpy as np

from comparity import barp, comparative_separation, plan_comparative

rng = np.random.default_rng(11)
n_answers, n_battles = 400, 12_000

quality = rng.normal(size=n_answers)
length = rng.choice(["long", "short"], n_answers)

people = [f"p{k:02d}" for k in range(1, 16)]
judge = rng.choice(["llm", *people], n_battles, p=[0.4] + [0.04] * 15)
pairs = np.array([rng.choice(n_answers, 2, replace=False) for _ in range(n_battles)])

# %% [markdown]
# What is true: the language model adds 0.9 logits to long answers, and every evaluator, people
# too, adds 0.6 to the answer shown first.

# %%
seen = 1.5 * quality[pairs] + rng.gumbel(size=pairs.shape)
seen += 0.9 * (judge == "llm")[:, None] * (length[pairs] == "long")
seen[:, 0] += 0.6
first_won = seen[:, 0] > seen[:, 1]
battles = np.where(first_won[:, None], pairs, pairs[:, ::-1])

# %% [markdown]
# ## Does the judge lean?
#
# `barp` gives every evaluator a bias, in SDs of the answers' scores, and ranks the answers without
# it. Data tell only how evaluators *differ*. Here people are trusted not to lean, and the result
# says so.

# %%
fit = barp(
    battles,
    evaluators=judge,
    sensitive_features={"length": length},
    reference={"length": "short"},
    seats=np.where(first_won, 1, -1),
    anchor=people,
)
llm = list(fit.evaluators).index("llm")
bias, error = fit.bias[llm, 0], fit.bias_standard_errors[llm, 0]
print(f"the language model: {bias:+.2f} ± {1.96 * error:.2f} {fit.unit} for long answers")
print(f"shown first: {fit.seat.value:+.2f} ± {1.96 * fit.seat.standard_error:.2f} logits")
print("assumed:", fit.anchor)

# %% [markdown]
# ## Does the reward model agree with people equally often?
#
# This one learned from the language model's judgments, and with them its taste for length.
# Fifteen people judged; with three the same gap would have stayed undecided, because three people
# say little about people.

# %%
reward = quality + 0.5 * (length == "long") + rng.normal(0, 0.5, n_answers)
by_people = judge != "llm"
audit = comparative_separation(
    battles[by_people],
    scores=reward,
    sensitive_features=length,
    evaluators=judge[by_people],
)
print(audit)

# %%
audit.plot()

# %% [markdown]
# The across gap speaks: when the better answer is the short one, the reward model disagrees with
# people more often. Against the language model's own judgments the same reward model looks
# better, because it shares the lean:

# %%
of_llm = comparative_separation(
    battles[~by_people], scores=reward, sensitive_features=length, evaluators=judge[~by_people]
)
print(f"across gap against people {audit.tests[0].gap:+.3f}: {audit.finding}")
print(f"across gap against the llm {of_llm.tests[0].gap:+.3f}: {of_llm.finding}")

# %% [markdown]
# ## How many judgments by people are enough?
#
# People are dear. Suppose the reward model is right about 85 % of good and of bad answers if they
# are long, and about 75 % if they are short:

# %%
plan = plan_comparative(
    tpr=[0.85, 0.75],
    tnr=[0.75, 0.85],
    shares=[0.5, 0.5],
    base_rates=[0.5, 0.5],
    groups=["long", "short"],
    n_items=2000,
    n_evaluators=15,
    power=0.8,
)
print(plan)
