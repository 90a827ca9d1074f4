"""DCQCN's parameters for a given fabric, searched by Optuna: `pip install optuna`, then `python optuna_dcqcn.py`.

Each trial is an incast of 15 senders to one host, over three seeds. The objective is the FCT of the slowest sender, plus a
penalty for the time that the switches pause.
"""

import sys

import optuna
import polars as pl

import anabranch


def trial(trial: optuna.Trial) -> float:
    """The FCT of the slowest sender in us plus a fifteenth of the time that switches pause, averaged over the seeds."""
    dcqcn = {
        "increase_timer": f"{trial.suggest_int('increase_timer_us', 10, 300, log=True)}us",
        "rate_ai": f"{trial.suggest_float('rate_ai_percent', 0.1, 10, log=True) / 100}line",
        "g": trial.suggest_float("g", 1 / 1024, 1 / 16, log=True),
    }
    scenario = (
        anabranch.Scenario("DCQCN", schemes=["rocev2"], seeds=[1, 2, 3])
        .topology("fat-tree", hosts=32, link="100Gbps")
        .workload("incast", degree=15, bytes="1MB")
    )
    scenario.settings({f"rocev2.cc.{key}": value for key, value in dcqcn.items()})
    runs = pl.DataFrame(anabranch.run(scenario).runs)
    return float((runs["fct_max_us"] + runs["pause_us"] / 15).mean())


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(trial, n_trials=int(sys.argv[1]) if len(sys.argv) > 1 else 50)
    print(f"{study.best_value:.1f} us with {study.best_params}")
