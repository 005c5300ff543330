"""A few rows of every format, written by hand from what the tools document; no text is theirs."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]

SHOWN = (
    "<|User Prompt|>\nName a colour.\n\n<|The Start of Assistant A's Answer|>\n{}\n"
    "<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's Answer|>\n{}\n"
    "<|The End of Assistant B's Answer|>"
)
ASKED = (
    "[User Question]\nName a colour.\n\n[The Start of Assistant A's Answer]\n{}\n"
    "[The End of Assistant A's Answer]\n\n[The Start of Assistant B's Answer]\n{}\n"
    "[The End of Assistant B's Answer]"
)

ARENA_HARD: Rows = [
    {
        "question_id": "q1",
        "model": "m",
        "judge": "j",
        "games": [
            {"user_prompt": SHOWN.format("Blue", "Red."), "judgment": "[[A>>B]]", "score": "A>>B"},
            {"user_prompt": SHOWN.format("Red.", "Blue"), "judgment": "[[A>B]]", "score": "A>B"},
        ],
    },
    {
        "question_id": "q2",
        "model": "m",
        "judge": "j",
        "games": [
            {"user_prompt": SHOWN.format("Two", "Three"), "judgment": "hm", "score": None},
            {"user_prompt": SHOWN.format("Three", "Two"), "judgment": "[[A=B]]", "score": "A=B"},
        ],
    },
]
MT_BENCH_PAIRS: Rows = [
    {
        "question_id": 81,
        "model_1": "m",
        "model_2": "n",
        "g1_winner": "model_1",
        "g2_winner": "model_2",
        "judge": ["gpt-4", "pair-v2"],
        "g1_user_prompt": ASKED.format("Red.", "Blue"),
        "g1_judgment": "[[A]]",
        "g2_user_prompt": ASKED.format("Blue", "Red."),
        "g2_judgment": "[[A]]",
        "turn": 1,
    },
    {
        "question_id": 82,
        "model_1": "m",
        "model_2": "n",
        "g1_winner": "tie",
        "g2_winner": "error",
        "judge": ["gpt-4", "pair-math-v1"],
        "g1_judgment": "[[C]]",
        "g2_judgment": "$ERROR$",
        "turn": 1,
    },
]
MT_BENCH_VOTES: Rows = [
    {
        "judge": "expert_1",
        "model_a": "m",
        "model_b": "n",
        "question_id": 81,
        "turn": 1,
        "winner": "model_a",
    },
    {
        "judge": "expert_2",
        "model_a": "n",
        "model_b": "m",
        "question_id": 81,
        "turn": 1,
        "winner": "tie",
    },
    {
        "judge": "gpt4_pair",
        "model_a": "m",
        "model_b": "n",
        "question_id": 81,
        "turn": 1,
        "winner": "tie (inconsistent)",
    },
]
MT_BENCH_ORDERS: Rows = [
    {
        "question_id": 81,
        "model_a": "m",
        "model_b": "n",
        "judge_id": "j",
        "winner": "inconsistent",
        "winner_ab": "A",
        "winner_ba": "A",
        "turn": 2,
    },
    {
        "question_id": 82,
        "model_a": "m",
        "model_b": "n",
        "judge_id": "j",
        "winner": "m",
        "winner_ab": "A",
        "winner_ba": "B",
        "turn": 2,
    },
]
MT_BENCH_ANSWERS: Rows = [
    {"question_id": 81, "model_id": "m", "choices": [{"index": 0, "turns": ["Red.", "Rot."]}]},
    {"question_id": 81, "model_id": "n", "choices": [{"index": 0, "turns": ["Blue", "B"]}]},
]
MT_BENCH_QUESTIONS: Rows = [
    {"question_id": 81, "category": "writing", "turns": ["Name a colour.", "In German."]}
]
MT_BENCH_SCORES: Rows = [
    {"question_id": 81, "model": "m", "judge": ["j", "single-v1"], "score": 7, "turn": 1},
    {"question_id": 81, "model": "n", "judge": ["j", "single-v1"], "score": 9, "turn": 1},
    {"question_id": 82, "model": "m", "judge": ["j", "single-v1"], "score": -1, "turn": 1},
    {"question_id": 82, "model": "n", "judge": ["j", "single-v1"], "score": 5, "turn": 1},
]
LLMBAR: Rows = [
    {
        "input": "Name a colour.",
        "output_1": "Red.",
        "output_2": "Blue",
        "label": 1,
        "results": [
            {
                "swap = False": {"completion": ["Output (a)", "stop"], "winner": "1"},
                "swap = True": {"completion": ["Output (a)", "stop"], "winner": "2"},
            }
        ],
    },
    {
        "input": "Name a number.",
        "output_1": "Two",
        "output_2": "Three",
        "label": 2,
        "results": [{"score_1": ["4", "stop"], "score_2": ["4", "stop"]}],
    },
]
POSITION_BIAS: Rows = [
    {
        "cmp_index": "81;m;n",
        "question_1": "Name a colour.",
        "question_2": "In German.",
        "answer1_1": "Red.",
        "answer1_2": "Rot.",
        "answer2_1": "Blue",
        "answer2_2": "B",
        "A": "m",
        "B": "n",
        "task": "writing",
        "some-judge": "At first [[B]], but then [[A]].",
    },
    {
        "cmp_index": "81;n;m",
        "question_1": "Name a colour.",
        "question_2": "In German.",
        "answer1_1": "Blue",
        "answer1_2": "B",
        "answer2_1": "Red.",
        "answer2_2": "Rot.",
        "A": "n",
        "B": "m",
        "task": "writing",
        "some-judge": "I cannot say.",
    },
]
ARENA: Rows = [
    {
        "question_id": "x1",
        "model_a": "m",
        "model_b": "n",
        "winner": "model_a",
        "judge": "arena_user_1",
        "conversation_a": [
            {"role": "user", "content": "Name a colour."},
            {"role": "assistant", "content": "Red."},
        ],
        "conversation_b": [
            {"role": "user", "content": "Name a colour."},
            {"role": "assistant", "content": "Blue"},
        ],
        "language": "English",
        "anony": True,
    },
    {
        "question_id": "x2",
        "model_a": "n",
        "model_b": "m",
        "winner": "tie (bothbad)",
        "judge": "arena_user_2",
        "language": "German",
        "conv_metadata": {"sum_assistant_a_tokens": 10, "sum_assistant_b_tokens": 20},
    },
]
ARENA_ONE_HOT: Rows = [
    {
        "id": "30192",
        "model_a": "m",
        "model_b": "n",
        "prompt": '["Name a colour."]',
        "response_a": '["Red."]',
        "response_b": '["Blue"]',
        "winner_model_a": 0,
        "winner_model_b": 1,
        "winner_tie": 0,
    }
]
ARENA_JUDGES: Rows = [
    {"id": "x1", "model_a": "m", "model_b": "n", "human_winner": "model_b", "judge_pick": "A"},
    {"id": "x2", "model_a": "n", "model_b": "m", "human_winner": "model_b", "judge_pick": None},
]
ALPACA_EVAL: Rows = [
    {
        "instruction": "Name a colour.",
        "output_1": "Blue",
        "generator_1": "base",
        "output_2": "Red.",
        "generator_2": "m",
        "dataset": "own",
        "annotator": "cot_fn",
        "preference": 2,
        "referenced_models": {"m": "output_2", "M": "output_1"},
    },
    {
        "instruction": "Name a number.",
        "output_1": "Two",
        "generator_1": "base",
        "output_2": "Three",
        "generator_2": "m",
        "dataset": "own",
        "annotator": "weighted",
        "preference": 1.2,
    },
    {
        "instruction": "Name a letter.",
        "output_1": "A",
        "generator_1": "base",
        "output_2": "A",
        "generator_2": "m",
        "dataset": "own",
        "annotator": "weighted",
        "preference": 0,
    },
    {
        "instruction": "Name a river.",
        "output_1": "Elbe",
        "generator_1": "base",
        "output_2": "Nile",
        "generator_2": "m",
        "dataset": "own",
        "annotator": "weighted",
        "preference": 1,
    },
    {
        "instruction": "Name a bird.",
        "output_1": "Wren",
        "generator_1": "base",
        "output_2": "Tern",
        "generator_2": "m",
        "dataset": "own",
        "annotator": "cot_fn",
        "preference": 1,
        "raw_completion": {
            "ordered_models": [{"model": "m", "rank": 1}, {"model": "M", "rank": 2}]
        },
    },
]
JUDGEBENCH: Rows = [
    {
        "pair_id": "p1",
        "source": "own-math",
        "question": "Name a colour.",
        "response_model": "m",
        "response_A": "Red.",
        "response_B": "Blue",
        "label": "B>A",
        "judge_name": "arena_hard",
        "judgments": [
            {"judgment": {"response": "..."}, "decision": "A>B"},
            {"judgment": {"response": "..."}, "decision": "A>B"},
        ],
    }
]
REWARDBENCH: Rows = [
    {
        "id": 1,
        "subset": "easy",
        "prompt": "Name a colour.",
        "chosen": "Red.",
        "rejected": "Blue",
        "scores_chosen": 1.5,
        "scores_rejected": 2.0,
        "results": 0,
    }
]
CHOSEN: Rows = [
    {
        "prompt": "Name a colour.",
        "chosen": [{"role": "assistant", "content": "Red."}],
        "rejected": [{"role": "assistant", "content": "Blue"}],
        "score_chosen": 8.0,
        "score_rejected": 5.0,
    }
]
PANDALM: Rows = [
    {
        "idx": 1,
        "instruction": "Name a colour.",
        "input": "",
        "response1": "Red.",
        "response2": "Blue",
        "annotator1": 1,
        "annotator2": 2,
        "annotator3": 0,
    }
]
INSPECT: Rows = [
    {
        "version": 2,
        "status": "success",
        "eval": {"task": "colours", "model": model},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "input": "Name a colour.",
                "output": {"choices": [{"message": {"content": answer}}]},
                "scores": {"model_graded_fact": {"value": value}},
            }
        ],
    }
    for model, answer, value in (("m", "Red.", "C"), ("n", "Blue", "I"))
]
PROMPTFOO: Rows = [
    {
        "evalId": "e",
        "results": {
            "version": 3,
            "results": [
                {
                    "prompt": {"raw": "Name a colour.", "label": "p"},
                    "promptIdx": 0,
                    "provider": {"id": model},
                    "vars": {"what": "colour"},
                    "success": False,
                    "response": {"output": answer},
                    "gradingResult": {
                        "componentResults": [
                            {"assertion": {"type": "latency"}, "pass": False, "score": 0},
                            {
                                "assertion": {"type": "llm-rubric", "value": "is a colour"},
                                "pass": True,
                                "score": score,
                            },
                        ]
                    },
                }
                for model, answer, score in (("m", "Red.", 1), ("n", "Blue", 0.5))
            ],
        },
        "config": {},
    }
]

PROMPTFOO_TABLE: Rows = [
    {
        "topic": "rivers",
        "[m] Write of {{topic}}": "[PASS] (0.75)\n\nElbe\n\nPass Reason: fine",
        "[n] Write of {{topic}}": "[FAIL] (0.25)\n\nNo idea\n\nFail Reason: no river",
    },
    {
        "topic": "birds",
        "[m] Write of {{topic}}": "[ERROR] (0.00)\n\ntimed out",
        "[n] Write of {{topic}}": "[PASS] (1.00)\n\nWren\n\nPass Reason: fine",
    },
    {
        "topic": "trees",
        "[m] Write of {{topic}}": "[PASS] (1.00)\n\nOak\n\nPass Reason: No assertions",
        "[n] Write of {{topic}}": "[PASS] (1.00)\n\nElm\n\nPass Reason: No assertions",
    },
]
DEEPEVAL: Rows = [
    {
        "testCases": [
            {
                "name": "one",
                "input": "Name a colour.",
                "actualOutput": "Red.",
                "metricsData": [
                    {"name": "Relevancy", "score": 0.9, "evaluationModel": "gpt"},
                ],
            }
        ]
    }
]
LM_EVAL: Rows = [
    {
        "doc_id": 0,
        "doc": {"question": "Name a colour."},
        "target": "red",
        "arguments": [["Name a colour."]],
        "resps": [["Red."]],
        "filtered_resps": ["Red."],
        "filter": "none",
        "metrics": ["judge_score"],
        "judge_score": 1.0,
    }
]
LABEL_STUDIO: Rows = [
    {
        "id": 1,
        "data": {"text1": "Red.", "text2": "Blue"},
        "annotations": [
            {
                "completed_by": 3,
                "result": [{"type": "pairwise", "value": {"selected": "right"}}],
            },
            {"completed_by": 4, "result": []},
        ],
    }
]
ARGILLA: Rows = [
    {
        "id": "r1",
        "fields": {"prompt": "Name a colour.", "response-1": "Red.", "response-2": "Blue"},
        "responses": [
            {
                "user_id": "u1",
                "status": "submitted",
                "values": {"preference": {"value": "response-2"}},
            },
            {"user_id": "u2", "status": "discarded", "values": {}},
        ],
    }
]
TABLE: Rows = [
    {"prompt": "p1", "left": "m", "right": "n", "winner": "left", "judge": "ann"},
    {"prompt": "p1", "left": "n", "right": "m", "winner": "m", "judge": "ann"},
    {"prompt": "p2", "left": "m", "right": "n", "winner": "tie", "judge": "bob"},
]

SAMPLES: dict[str, Rows] = {
    "arena-hard": ARENA_HARD,
    "mt-bench pairs": MT_BENCH_PAIRS,
    "mt-bench votes": MT_BENCH_VOTES,
    "mt-bench orders": MT_BENCH_ORDERS,
    "mt-bench answers": MT_BENCH_ANSWERS,
    "mt-bench questions": MT_BENCH_QUESTIONS,
    "mt-bench scores": MT_BENCH_SCORES,
    "llmbar": LLMBAR,
    "position bias": POSITION_BIAS,
    "arena": ARENA,
    "arena one-hot": ARENA_ONE_HOT,
    "arena judges": ARENA_JUDGES,
    "alpaca eval": ALPACA_EVAL,
    "judgebench": JUDGEBENCH,
    "rewardbench": REWARDBENCH,
    "chosen, rejected": CHOSEN,
    "pandalm": PANDALM,
    "inspect": INSPECT,
    "promptfoo": PROMPTFOO,
    "promptfoo table": PROMPTFOO_TABLE,
    "deepeval": DEEPEVAL,
    "lm-eval": LM_EVAL,
    "label studio": LABEL_STUDIO,
    "argilla": ARGILLA,
    "table": TABLE,
}
"""Every format by the name of its reader."""
