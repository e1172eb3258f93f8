"""Decode text: UTF-8 or UTF-16 if the bytes prove it, otherwise GBK or Windows-1252 if they look like it."""

from __future__ import annotations

import re

from geodual.errors import DataError

# Western letters and signs in Windows-1252. They stand alone, or in twos inside a word, as in "Ações".
_SIGN = b"[%b\xc0-\xff]" % "€…ŠŒŽ‘’“”•–—™šœžŸ\xa0£§©ª«®°²´·º»".encode("cp1252")
_WESTERN = re.compile(rb"(?<![\x80-\xff])%b(?![\x80-\xff])|(?<=[A-Za-z])%b{2}(?=[A-Za-z])" % (_SIGN, _SIGN))
# Pairs of bytes in GBK; the group are common Chinese characters and punctuation, those of GB2312. Of other
# encodings few pairs are: two in five of Big5, half of Japanese in EUC, hardly any of Shift-JIS.
_CHINESE = re.compile(rb"([\xa1\xa3\xb0-\xf7][\xa1-\xfe])|[\x81-\xfe][\x40-\xfe]")
_MOST = 0.8  # share of the bytes that must look like it; names have a rare character now and then
_SHOWN = 1 << 20  # bytes from the first one beyond ASCII on that are looked at
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")  # characters that no text has: the file is binary


def decode_text(data: bytes, source: str) -> tuple[str, str]:
    """Return the text with plain line ends, and the name of its encoding if that is a guess, else ""."""
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    guess, text = "", _decode(data, "utf-16" if utf16 else "utf-8-sig")
    if text is None:
        guess, codec = _guess(data)
        text = _decode(data, codec)
    if text is None or "\0" in text or _CONTROL.search(text[:4096]):
        problem = "this is not text in UTF-8 or UTF-16, and does not look like GBK or Windows-1252 (Latin-1)"
        raise DataError(f"{source}: {problem}. Save it as CSV in UTF-8, or as Parquet.")
    return text.replace("\r\n", "\n").replace("\r", "\n"), guess


def _decode(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None


def _guess(data: bytes) -> tuple[str, str]:
    """Return the name and the codec of the encoding that bytes look like if they are not UTF-8."""
    first = re.search(rb"[\x80-\xff]", data)
    shown = data[max(first.start() - 1, 0) :][:_SHOWN] if first else b""
    needed = _MOST * len(re.findall(rb"[\x80-\xff]", shown))
    for name, codec, pattern in (("Windows-1252", "cp1252", _WESTERN), ("GBK", "gb18030", _CHINESE)):
        if sum(map(len, pattern.findall(shown))) >= needed:
            return name, codec
    return "", "ascii"
