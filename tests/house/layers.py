# SPDX-License-Identifier: MIT
"""Reads layers.ini, the table of DESIGN.md section 2."""

import configparser
import fnmatch
import os


class Layer:
    def __init__(self, name, section):
        self.name = name
        self.places = section["place"].split()
        self.uses = set(section["uses"].split()) | {name}
        self.outside = set(section["outside"].split())
        self.pure = section.getboolean("pure", fallback=False)


class Table:
    def __init__(self, path):
        ini = configparser.ConfigParser()
        with open(path, encoding="utf-8") as file:
            ini.read_file(file)
        self.layers = {}
        for section in ini.sections():
            if section.startswith("layer "):
                layer = Layer(section[len("layer "):], ini[section])
                self.layers[layer.name] = layer
        self.roots = ini["roots"]["roots"].split()
        self.headers = {name: globs.split() for name, globs in ini["headers"].items()}
        self.pure_symbols = {name: set(names.split()) for name, names in ini["pure"].items()}
        for layer in self.layers.values():
            unknown = layer.uses - self.layers.keys() | layer.outside - self.headers.keys()
            if unknown:
                raise ValueError(f"layers.ini: layer {layer.name} names the unknown "
                                 f"{', '.join(sorted(unknown))}")

    def layer_of(self, path):
        """The layer a file belongs to, or None."""
        best, best_place = None, ""
        for layer in self.layers.values():
            for place in layer.places:
                inside = fnmatch.fnmatch(path, place) or path.startswith(place + "/")
                if inside and len(place) > len(best_place):
                    best, best_place = layer, place
        return best

    def group_of(self, header):
        """The group of [headers] that `<header>` is in, or None."""
        for group, globs in self.headers.items():
            if any(fnmatch.fnmatch(header, glob) for glob in globs):
                return group
        return None


def load():
    return Table(os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.ini"))
