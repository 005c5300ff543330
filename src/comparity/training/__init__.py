"""Weights of rows, and scores trained under pairwise goals.

The folder reads from the doors down. A score: ``train`` (files) and ``rankers`` (estimators, with
``estimators`` in common) call ``fitting``, which prepares rows, has them trained and tells what
came out; ``solve`` plays games, polishes and chooses among ``candidates``; ``game`` has both
players, ``polish`` the smooth last stretch, ``mixtures`` and ``pooling`` the choice among what was
gone through, ``goals`` what is asked, ``rows`` what it is asked of, ``losses`` the losses over all
pairs, ``pair_parts``, ``pair_order``, ``pair_sums`` and ``smooth_order`` the sums behind them.
``kinds`` are networks (their game is in ``torch_game``, ``batches`` and ``torch_bounds``, their
weights in ``torch_parameters``) and boosted trees (``leaves``);
``models`` is what stays of all kinds, ``model_files`` how it is written; by ``scoring`` searches
compare models. ``adjust`` moves scores in place of training for a goal; ``beside`` and ``costs``
compare what came out. Other methods stand alone: ``weigh`` (``weigh_files``) before training,
``correlation`` and ``meta_fair`` (with ``rate_duals``) in its place, ``score_transforms``,
``group_shift``, ``group_thresholds`` and ``exposure_program`` after it.
"""
