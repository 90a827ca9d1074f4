"""Queries of a folder of results, as users write them. The arguments are the query engine and the folder."""

import sys

engine, folder = sys.argv[1], sys.argv[2]

if engine == "duckdb":
    import duckdb

    def rows(sql):
        return duckdb.sql(sql.replace("$", folder + "/")).fetchall()

    assert rows("SELECT run, scheme, seed, \"workload.load\" FROM '$runs.parquet' ORDER BY run") == [
        (0, "reps", 1, 0.3),
        (1, "ops", 2, 0.8),
    ]
    assert rows("SELECT header_drops FROM '$runs.parquet' ORDER BY run") == [(None,), (7.0,)]
    mean = "SELECT scheme, \"workload.load\", avg(fct_ps) FROM '$flows.parquet' GROUP BY ALL ORDER BY scheme"
    assert rows(mean) == [("ops", 0.8, 30.0), ("reps", 0.3, 15.0)]
    assert rows("SELECT seed, max(cct_ps) FROM '$jobs.parquet' GROUP BY seed ORDER BY seed") == [(1, 9), (2, 9)]
    assert rows("SELECT scheme, max(value) FROM '$series.parquet' GROUP BY ALL ORDER BY scheme") == [
        ("ops", 1.5),
        ("reps", 0.5),
    ]
else:
    import polars as pl

    def table(name):
        return pl.read_parquet(f"{folder}/{name}.parquet")

    runs = table("runs").sort("run").select("run", "scheme", "seed", "workload.load", "header_drops").rows()
    assert runs == [(0, "reps", 1, 0.3, None), (1, "ops", 2, 0.8, 7.0)]
    mean = table("flows").group_by("scheme", "workload.load").agg(pl.col("fct_ps").mean()).sort("scheme")
    assert mean.rows() == [("ops", 0.8, 30.0), ("reps", 0.3, 15.0)]
    assert table("jobs").group_by("seed").agg(pl.col("cct_ps").max()).sort("seed").rows() == [(1, 9), (2, 9)]
    highest = table("series").group_by("scheme").agg(pl.col("value").max()).sort("scheme")
    assert highest.rows() == [("ops", 1.5), ("reps", 0.5)]
print("as expected")
