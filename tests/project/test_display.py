"""Results draw themselves through the drawer that the package registers."""

from casid.display import Displayed, drawn_by


class Drawing:
    def html(self, result):
        return f"<p>{type(result).__name__}</p>"

    def plot(self, result, picture, **options):
        return (picture, options)


def test_a_result_is_drawn_by_the_registered_drawer(monkeypatch):
    monkeypatch.setattr(Displayed, "_drawer", Displayed.__dict__["_drawer"])  # put back afterwards
    drawn_by(Drawing)
    assert Displayed()._repr_html_() == "<p>Displayed</p>"
    assert Displayed()._plot("links", size=2) == ("links", {"size": 2})
