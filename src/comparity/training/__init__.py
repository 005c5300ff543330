"""Weights of rows, and scores trained under pairwise goals.

The folder reads from the doors down. A score: ``train`` (files) and ``rankers`` (estimators) call
``fitting``, which prepares rows, has them trained and tells what came out; ``solve`` plays games
and chooses; ``game`` has both players, ``mixtures`` the choice among what they went through,
``goals`` what is asked, ``rows`` what it is asked of, ``losses`` the losses over all pairs and
``pair_order`` the sums behind them. ``kinds`` are networks (their game is in ``torch_game``) and
boosted trees; ``models`` is what stays of all kinds, ``model_files`` how it is written; by
``scoring`` searches compare models. Other methods stand alone: ``weigh`` before training,
``correlation`` and ``meta_fair`` (with ``rate_duals``) in its place, ``score_transforms``,
``group_shift`` and ``exposure_program`` after it.
"""
