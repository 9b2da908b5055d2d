"""What models cost, as it is stored with them."""

from decimal import Decimal

from turnkeeper.application.configure_models import ConfigureModels
from turnkeeper.domain.errors import SettingsError
from turnkeeper.domain.frozen import replace
from turnkeeper.domain.model import Model
from turnkeeper.domain.price import Price

HIGHEST = Decimal(1_000_000)


class ConfigurePrices(ConfigureModels):
    """The prices of registered models."""

    def set_price(self, model: str, price: Price) -> Model:
        """Store what a model costs, in US dollars a million tokens; it changes no turn."""
        for name, amount in (("input", price.input), ("output", price.output)):
            if not (amount.is_finite() and 0 <= amount <= HIGHEST):
                raise SettingsError(
                    f"the price of {name} tokens is 0 to {HIGHEST} US dollars a million, not"
                    f" {amount}"
                )
        return self._priced(model, float(price.input), float(price.output))

    def remove_price(self, model: str) -> Model:
        """Forget what a model costs."""
        return self._priced(model, None, None)

    def _priced(self, name: str, each_in: float | None, each_out: float | None) -> Model:
        with self._ports.changing:
            found = self.find_model(name)
            priced = replace(found, price_in_per_mtok=each_in, price_out_per_mtok=each_out)
            self._ports.editor.save_model(priced)
            return priced
