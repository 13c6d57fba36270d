"""Writes canonical-vectors.json: JSON texts, and the canonical form that Python gives them.

Run: python3 spec/machines/canonical_vectors.py > spec/machines/canonical-vectors.json
     npx biome check --write spec/machines/canonical-vectors.json
"""

import hashlib
import json
import random
import struct


def canonical(text: str) -> str:
    """The form from which clients compute fingerprints (docs/protocol.md#fingerprints)."""
    return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def float_texts() -> list[str]:
    """Floats as people write them, at every magnitude, and where the way they are printed changes."""
    written = """
        0.0 -0.0 0e0 -0e5 1.0 -1.0 1.50 1e0 1E0 1e1 1E+1 1e-1 100e-2 0.1 0.10 1e15 1e16 1e17 1e20 1e21 1e22 1e23
        123456789012345.6 1234567890123456.7 12345678901234567.8 9007199254740993.0 9999999999999998.0 1e-3 1e-4
        0.0001 0.00012 0.000123 0.00001 0.0000123 1e-5 1e-6 1.5e-6 1e-7 1.5e-7 123e-9 5e-324 4.9e-324 2.5e-324
        2e-324 1e-400 -1e-400 1e308 1.7976931348623157e308 1.7976931348623159e308 1e309 -1e309 1e400 1E400 -1e400
        2.2250738585072014e-308 0.30000000000000004 0.1e1 3.141592653589793238462643383279502884197 1e+05 1e05 1e-05
        4.35 0.000001 999999999999999.9 99999999999999999.0 5e-5 1.0e-10 123456.789e3
    """.split()
    magnitudes = [f"{digits}e{exponent}" for exponent in range(-330, 312, 7) for digits in ("1", "-7.25", "9.999999999999999")]
    dice = random.Random(20240)
    bits = [struct.unpack("<d", dice.randbytes(8))[0] for _ in range(150)]
    return written + magnitudes + [repr(value) for value in bits if value == value]


TEXTS = [
    # Integers keep all digits; floats stay floats.
    "0", "-0", "1", "-1", "100", "1.0", "9007199254740993", "12345678901234567890", "-" + "9" * 60,
    "[1,1.0,-0,-0.0,1e2,100]",
    # White space, words, empty composites.
    " [ ] ", '{\n}\t', "[ true , false , null ]", '[[],{},"",[[]]]', ' {"a" : [ 1 , {"b":2.50} ] } ',
    # Order of keys, also nested, repeated and those that look like numbers.
    '{"b":1,"a":2}', '{"b":{"d":1,"c":[{"z":1,"y":2}]},"a":[]}', '{"a":1,"a":2,"\\u0061":3.0}', '{"10":1,"9":2,"1":3}',
    '{"a":1,"A":2,"":3,"aa":4,"a b":5,"_":6}', '{"__proto__":1,"constructor":2}', '{"\\u0000":1,"\\u0001":2,"a\\u0000":3,"a":4}',
    # By code point, not by UTF-16 unit: U+FF5E sorts before U+1F600, though its unit is larger.
    '{"\\ud83d\\ude00":1,"\\uff5e":2,"\\ue000":3,"z":4}', '{"😀":1,"～":2,"é":3,"e":4}', '{"😀b":1,"😀a":2,"😀":3}',
    '{"\\udfff":1,"😀":2,"\\ud800":3,"\\uffff":4}', '{"a\\ud83d":1,"a😀":2,"a\\ude00":3}',
    # Escapes: what is not printable ASCII is escaped, DEL included, the solidus is not.
    '"\\u0041\\/\\"\\\\"', '"\\b\\f\\n\\r\\t"', '"\\u0000\\u001f\\u007f\\u0080\\u00a0"', '"\x7f"', '"\x80é€ß\u2028\u2029\ufeff"',
    '"😀"', '"\\ud83d\\ude00"', '"\\uD83D\\uDE00"', '"\\ud83d"', '"\\ude00\\ud83d"', '"<>&\'"', '"\\u00E9"', '{"é\\u007f":"\\u007f"}',
    # A pipeline as people write them.
    '[{"class": "sklearn.preprocessing.MinMaxScaler", "params": {"feature_range": [0, 1.0], "copy": true}}, '
    '{"model": "PLS", "n_components": 10, "tol": 1e-06, "name": "Größe \\u03bb"}]',
    *float_texts(),
    "[" + ",".join(float_texts()) + "]",
]

if __name__ == "__main__":
    rows = [[text, canonical(text), hashlib.sha256(canonical(text).encode()).hexdigest()[:16]] for text in TEXTS]
    print("[\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n]")
