# SPDX-License-Identifier: BSL-1.0
"""Runs the rounds of cells on many machines, by Dask distributed (`pip install millpond[cluster]`).

conductor                                      scheduler            workers
cluster_rounds ── the next group's round ─────────▶ ──────────────▶ worker_station: one task at a time, pinned
      ▲                                                                    │ recipe.runner(place).run(cell)
      └────────── whole rounds of groups, into the store ◀─────────────────┘

dispatch         which group's round runs next: pure, also used to forecast
shipment         the files that travel, by their digests
worker_station   a worker's side: files, checks, one group's round
cluster          the connection, the workers that serve, those left out by name
cluster_rounds   the driver: hands out rounds, keeps outcomes, survives workers
"""
