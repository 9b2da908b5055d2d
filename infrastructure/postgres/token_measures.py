"""Token measures in Postgres."""

from sqlalchemy import Engine, func, select
from sqlalchemy.dialects.postgresql import insert

from turnkeeper.application.ports.token_measures import TokenMeasure, TokenMeasures
from turnkeeper.infrastructure.postgres.engine import connected
from turnkeeper.infrastructure.postgres.tables import token_measures

LOAD = select(token_measures.c.provider, token_measures.c.model, token_measures.c.factor).order_by(
    token_measures.c.provider, token_measures.c.model
)
NEW = insert(token_measures)
SAVE = NEW.on_conflict_do_update(
    index_elements=["provider", "model"],
    set_={"factor": NEW.excluded.factor, "learnt_at": func.now()},
)


class PostgresTokenMeasures(TokenMeasures):
    """One row a model; the latest that was saved stands."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def load(self) -> tuple[TokenMeasure, ...]:
        with connected(self._engine) as connection:
            rows = connection.execute(LOAD).all()
        return tuple(
            TokenMeasure(provider=row.provider, model=row.model, factor=row.factor) for row in rows
        )

    def save(self, measures: tuple[TokenMeasure, ...]) -> None:
        # In one order in every process, so that two that save at once do not block each other.
        ordered = sorted(measures, key=lambda one: (one.provider, one.model))
        rows = [{"provider": m.provider, "model": m.model, "factor": m.factor} for m in ordered]
        if rows:
            with connected(self._engine) as connection:
                connection.execute(SAVE, rows)
