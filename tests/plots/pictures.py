"""Looking into figures that were drawn."""

import xml.etree.ElementTree as ElementTree

from plots import pictures


def texts(svg):
    return {"".join(node.itertext()) for node in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")}


def spied(monkeypatch, module):
    """The figures that a module saves, kept as objects to look into."""
    figures = []

    def save(figure, path, formats=("png",)):
        figures.append(figure)
        return pictures.save(figure, path, formats)

    monkeypatch.setattr(module, "save", save)
    return figures


def bars_of(axes):
    """From left to right."""
    bars = [patch for container in axes.containers for patch in getattr(container, "patches", ())]
    return sorted(bars, key=lambda bar: bar.get_x())
