"""Discord's ids, which tell when they were made."""

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
_SNOWFLAKE = re.compile(r"[0-9]{15,20}")
_MILLISECOND = timedelta(milliseconds=1)


def is_snowflake(text: str) -> bool:
    """Whether it can be an id of Discord's."""
    return _SNOWFLAKE.fullmatch(text) is not None


def made_at(snowflake: str) -> datetime:
    """When the thing with this id was made, to the millisecond."""
    return _EPOCH + (int(snowflake) >> 22) * _MILLISECOND


def just_before(instant: datetime) -> str:
    """The greatest id that can belong to something made before that millisecond."""
    milliseconds = (instant - _EPOCH) // _MILLISECOND
    return str(max(0, (milliseconds << 22) - 1))
