"""Writes pep440-vectors.json: which versions each constraint admits, by Python's own `packaging` library.

Run: python3 spec/machines/pep440_vectors.py > spec/machines/pep440-vectors.json  (packaging 26 or newer)
     npx biome check --write spec/machines/pep440-vectors.json
"""

import json

from packaging.specifiers import InvalidSpecifier, SpecifierSet

VERSIONS = """
    0.9 1 1.0 1.0.0 1.0.0.0 v1.0 1.0.dev1 1.0a1 1.0a1.dev2 1.0-beta 1.0b2.post1 1.0rc1 1.0.post1 1.0-1
    1.0.post1.dev3 1.0.post2 1.0.post2+x 1.0+x 1.0+X.1 1.0+x-1 1.0+2 1.0a2+x 1.1 1.1.dev1 1.2 1.2.0+cu117 1.2.0+cu118
    1.2.1 1.4 1.4.5 1.4.9 1.5rc1 1.5 1.5.post1 1.9 1.10 1.10.1 2.0.dev1 2.0a1 2.0rc1 2.0rc2 2.0 2.0.1 2.1.dev0
    3.9.19 3.11.7 3.12.0 3.13.0rc2 2024.1 1!0.5 1!1.0 1!1.0.post1 2!0.1 unknown 3.12.0-custom ""
""".split()

CONSTRAINTS = [
    *"""
    ==1.0 ==1 ==1.0.0 ==v1.0 ==1.0.post1 ==1.0-1 ==1.0a1 ==1.0.dev1 ==1.0+x ==1.0+x.1 ==1.2.0+cu118 ==1.* ==1.0.*
    ==1.5.* ==1!1.* ==1!1.0 !=1.0 !=1.0+x !=1.* !=1.5.* !=1.2.0+cu118 !=1.0.post1
    <1.0 <1.0a1 <1.0rc1 <1.0.post1 <1.0.dev1 <2.0 <2 <2.0rc2 <2.0rc1 <2.1 <1!0 <1!1.0 <1.10 <1.0a1.dev3
    <=1.0 <=1.0rc1 <=1.0.post1 <=1.2.0 <=2.0 <=1!1.0
    >1.0 >1 >1.0a1 >1.0rc1 >1.0.post1 >1.0.dev1 >1.2.0 >1.9 >2.0rc1 >1!0.5 >1!1.0 >0.9 >1.0b2
    >=1.0 >=1.0rc1 >=1.0.post1 >=1.2.0 >=1.9 >=2.0 >=2.0rc2 >=1!0 >=0
    ~=1.0 ~=1.4 ~=1.4.5 ~=1.4.5.0 ~=1.0a1 ~=1.0.post1 ~=2.0rc1 ~=1!1.0 ~=3.11
    ===1.0 ===v1.0 ===1.0+x ===1.0+x.1 ===1.2.0 ===unknown ===UNKNOWN ===1.0-1 ===1.0.post1
    >=1.0,<2 >=1.2,!=1.4.*,<2 >=3.10,<3.13 ~=1.4,!=1.4.5 >1.0,<1.0 >=1.0, ,<2 == ~=1 >=1.0+x <1.* ~=1.4.* ^1.0 =1.0 1.0 *
    ==1.0.dev* ==1.0a1.* ==1.0+x.* <2||>3 >=1;<2 ===a;b abc >=abc ==1..0 ==.1
    """.split(),
    " >= 1.0 , < 2 ",
    "=== 1.0",
    ">=1 <2",
    "== 1 .0",
]


def admitted(constraint: str) -> list[int] | None:
    """The numbers of the versions that the constraint admits; None where it is no constraint."""
    try:
        specifiers = SpecifierSet(constraint)
    except InvalidSpecifier:
        return None
    return [i for i, v in enumerate(VERSIONS) if specifiers.contains(v, prereleases=True)]


if __name__ == "__main__":
    VERSIONS = [v.strip('"') for v in VERSIONS]
    lines = [f"  {json.dumps(c)}: {json.dumps(admitted(c))}" for c in CONSTRAINTS]
    print('{ "versions": ' + json.dumps(VERSIONS) + ',\n  "admitted": {\n  ' + ",\n  ".join(lines) + "\n  }\n}")
