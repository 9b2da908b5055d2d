"""The built-in words for people, by locale and key."""

from collections.abc import Mapping
from types import MappingProxyType

ENGLISH: Mapping[str, str] = MappingProxyType(
    {
        "error.title": "No answer this time",
        "error.rate_limit": "{model} takes no more requests just now.",
        "error.auth": "The key for {provider} was refused.",
        "error.permission": "The key for {provider} may not use {model}.",
        "error.quota": "The balance or allowance at {provider} is used up.",
        "error.server_error": "{provider} had trouble answering.",
        "error.network": "The connection to {provider} broke off.",
        "error.overloaded": "{model} is overloaded just now.",
        "error.model_not_found": "{provider} does not know the model {model}.",
        "error.capability": "{model} cannot work with what it was given.",
        "error.context_too_long": "The conversation is too long for {model}.",
        "error.content_filter": "{provider} declined to answer this.",
        "error.bad_request": "{provider} did not understand the request.",
        "error.malformed_tool_call": "{model} asked for a tool in a way that makes no sense.",
        "error.timeout": "{model} took too long.",
        "error.tools_exhausted": "{model} went on calling tools without coming to an answer.",
        "progress.still_working": "This takes a while; still working on it.",
        "error.no_key": "There is no usable key for {provider}.",
        "error.unpreparable": "{model} is not set up properly.",
        "error.store": "The settings cannot be reached just now.",
        "error.sink": "The answer could not be posted.",
        "error.empty": "{model} answered with nothing.",
        "error.crash": "Something went wrong on our side.",
        "error.none": "There is nothing here that could answer.",
        "empty.length": "The whole answer budget went into thinking.",
        "no_key.back": "The first key is back in {seconds} s.",
        "tip.server.auth": "A manager of this server can check its keys.",
        "tip.server.no_key": "A manager of this server can add a key.",
        "tip.server.quota": "A manager of this server can check its balance or add a key.",
        "tip.server.rate_limit": "A manager of this server can add another key or a fallback.",
        "tip.server.permission": "A manager of this server can check what its key may use.",
        "tip.server.model_not_found": "A manager of this server can choose another model.",
        "tip.server.unpreparable": "A manager of this server can check its models.",
        "tip.server.overloaded": "A manager of this server can set a fallback model.",
        "tip.personal.auth": "Check your own key in your personal settings.",
        "tip.personal.no_key": "Add a key of your own in your personal settings.",
        "tip.personal.quota": "Check the balance of your own account.",
        "tip.personal.rate_limit": "Your own key has reached its limit; try again later.",
        "tip.personal.permission": "Check what your own key may use.",
        "tip.personal.model_not_found": "Choose another model in your personal settings.",
        "tip.personal.unpreparable": "Check your models in your personal settings.",
        "tip.personal.overloaded": "Set a fallback model in your personal settings.",
        "refused.cooldown": "Please wait {seconds} s before the next message.",
        "refused.user_quota": "Your messages for today are used up. They are back in {back}.",
        "refused.server_quota": "This server's messages are used up. They are back in {back}.",
        "refused.member_keys": "This server wants members to use keys of their own. "
        "Set up a provider in your personal settings.",
        "refused.unreachable": "This channel cannot be reached.",
        "refused.channel_busy": "An answer is still being written here.",
        "refused.store": "Nobody can say just now whether this is allowed.",
        "back.hours": "{hours} h",
        "back.days": "{days} days",
        "back.unknown": "a while",
        "press.expired": "These details were kept for a day, and are gone.",
        "press.unknown": "There are no details of this any more.",
        "press.read": "There is nothing to send: the details are only for reading.",
        "press.store": "This cannot be looked up just now; please try again in a moment.",
        "press.stopped": "The answer is being stopped.",
        "press.not_running": "There is nothing to stop: the answer has ended.",
        "press.not_yours": "Only who asked, or who may manage messages here, can stop this.",
        "notice.more": "… {count} more",
        "notice.title": "Another model answered",
        "notice.fallback": "{model} (fallback {slot}) answered, since:",
        "notice.lead": "{model} (this route's first model) answered, since:",
        "notice.failure": "{number}. `{model}`: {detail}",
        "notice.opt_out": "The server's models answered in place of your own. You can turn this "
        "off in your personal settings, under Models > Fallbacks.",
    }
)

GERMAN: Mapping[str, str] = MappingProxyType(
    {
        "error.title": "Diesmal keine Antwort",
        "error.timeout": "{model} hat zu lange gebraucht.",
        "error.empty": "{model} hat nichts geantwortet.",
        "progress.still_working": "Das dauert etwas; es wird noch daran gearbeitet.",
        "error.no_key": "Für {provider} gibt es keinen brauchbaren Schlüssel.",
        "error.rate_limit": "{model} nimmt gerade keine Anfragen mehr an.",
        "error.network": "Die Verbindung zu {provider} ist abgebrochen.",
        "error.server_error": "{provider} hatte Schwierigkeiten zu antworten.",
        "refused.cooldown": "Bitte warte {seconds} s bis zur nächsten Nachricht.",
        "press.expired": "Diese Angaben wurden einen Tag lang aufbewahrt und sind weg.",
        "press.unknown": "Hierzu gibt es keine Angaben mehr.",
        "press.stopped": "Die Antwort wird angehalten.",
        "press.not_running": "Es gibt nichts anzuhalten: die Antwort ist zu Ende.",
        "notice.title": "Ein anderes Modell hat geantwortet",
    }
)


class WordBook:
    """A catalogue of texts; what a locale lacks is said in English.

    Args:
        texts: By locale, by key; laid over the built-in ones.
    """

    def __init__(self, texts: Mapping[str, Mapping[str, str]] = MappingProxyType({})) -> None:
        self._texts = {
            locale: {**_BUILT_IN.get(locale, {}), **texts.get(locale, {})}
            for locale in {*_BUILT_IN, *texts}
        }

    def text(self, key: str, locale: str, **values: object) -> str:
        """The text of that key, its placeholders filled; empty if there is no such key."""
        for name in (locale, locale.split("-")[0].split("_")[0], "en"):
            template = self._texts.get(name, {}).get(key)
            if template is not None:
                return template.format_map(values)
        return ""


_BUILT_IN = {"en": ENGLISH, "de": GERMAN}
