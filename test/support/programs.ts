import { readFileSync } from "node:fs";

/** Workflows that the tests of the editor run, as the files of their folders. */

/** Tells what came in, and gives the document back byte by byte. */
export const CARRY = {
  "config.yaml": `name: Carry
inputs:
  title: { type: string, label: Title, default: First }
  document: { type: file, label: Document, max_size: 100MB }
  pages: { type: file_list, label: Pages, required: false, accept: [.txt], max_files: 5 }
triggers:
  api: { enabled: true }
`,
  "main.py": `import hashlib
import shutil
from pathlib import Path


def main(title, document, pages):
    print(f"Carrying {document.name} for {title}")
    Path("outputs").mkdir(exist_ok=True)
    shutil.copy(document, "outputs/copy.bin")
    files = [document, *(pages or [])]
    return {"told": {"title": title, "files": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}}}
`,
};

/** Goes on until it is cancelled, ten minutes at most; it fails at once for the label `fail`, and ends at once for `end`. */
export const WAIT = {
  "config.yaml": `name: Wait
inputs:
  label: { type: string, label: Label }
limits: { timeout: 10m }
triggers:
  api: { enabled: true }
`,
  "main.py": `import time


def main(label):
    if label == "fail":
        raise ValueError("There is no such label.")
    if label != "end":
        time.sleep(590)
`,
};

/** Writes a line ten times a second, after some in colours, until it is cancelled, or for ten minutes. */
export const PULSE = {
  "config.yaml": `name: Pulse
limits: { timeout: 10m }
triggers:
  api: { enabled: true }
`,
  "main.py": `import sys
import time

import treadle


def main():
    print("\\x1b[1;32mgreen\\x1b[0m and plain")
    print("careful", file=sys.stderr)
    print(" 10%\\r 50%\\r100% of the bar", flush=True)
    treadle.progress(0.25, "Counting")
    for number in range(5900):
        print(f"tick {number}", flush=True)
        time.sleep(0.1)
`,
};

/** Writes so many lines at once, one of them with a word of its own. */
export const LINES = {
  "config.yaml": `name: Lines
inputs:
  lines: { type: integer, label: Lines, min: 1 }
triggers:
  api: { enabled: true }
`,
  "main.py": `def main(lines):
    print("\\n".join(f"line {number}" + (" needle" if number == lines // 2 else "") for number in range(lines)))
`,
};

const readTable = (name: string): string => readFileSync(new URL(`tables/${name}`, import.meta.url)).toString("base64");

/** Leaves a file of each kind that can be looked at, two that must never be more than text, and one of all bytes. */
export const GALLERY = {
  "config.yaml": `name: Gallery
inputs:
  clip: { type: file, label: Clip, accept: [.webm] }
triggers:
  api: { enabled: true }
`,
  "main.py": `import json
import math
import shutil
import struct
import base64
import wave
import zipfile
import zlib
from pathlib import Path

HARM = "document.title = 'owned'; window.owned = true; fetch('/owned-by-script')"


def main(clip):
    folder = Path("outputs")
    folder.mkdir(exist_ok=True)
    shutil.copy(clip, folder / "clip.webm")
    (folder / "all.bin").write_bytes(bytes(range(256)) * 400)
    (folder / "notes.txt").write_text("First line of the notes\\nand the second: grüße\\n")
    (folder / "tree.json").write_text('{"id": 12345678901234567890, "price": 1.50, "tags": ["a", "b"], "none": null}')
    (folder / "table.csv").write_text('city,people\\n"Bern, the old town",17000\\nZürich,421878\\n')
    rows = [{"id": 9007199254740993, "name": "ten", "n": 10}, {"id": 2, "name": "two", "n": 2, "more": {"a": [1.50]}}]
    rows += [{"id": number, "name": f"row {number}", "n": -number} for number in range(3, 8)]
    (folder / "rows.jsonl").write_text("\\n".join(json.dumps(row) for row in rows))
    (folder / "report.md").write_text(
        f"# Report\\n\\nAll is **well** &amp; done, [see](https://example.org/a) [this](javascript:fetch('/owned-by-link')).\\n\\n"
        f"| city | people |\\n|---|---|\\n| Bern | 17 |\\n\\n![a chart](/owned-by-image)\\n\\n<script>{HARM}</script>\\n\\n<img src=/owned-by-tag onerror=1>\\n"
    )
    (folder / "study.ipynb").write_text(json.dumps(write_notebook()))
    with zipfile.ZipFile(folder / "bundle.zip", "w") as bundle:
        bundle.writestr("first/numbers.txt", "1234567890")
        bundle.writestr("../../escape.txt", "no")
    (folder / "page.html").write_text(f"<h1>Owned</h1><script>{HARM}</script><img src=/owned-by-picture onerror=\\"{HARM}\\">")
    (folder / "drawing.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" onload="{HARM}"><script>{HARM}</script><text y="20">Owned</text></svg>'
    )
    (folder / "cities.parquet").write_bytes(base64.b64decode("${readTable("cities.parquet")}"))
    (folder / "cities.xlsx").write_bytes(base64.b64decode("${readTable("cities.xlsx")}"))
    (folder / "picture.png").write_bytes(draw_picture(320, 120))
    (folder / "paper.pdf").write_bytes(write_paper())
    write_sound(folder / "sound.wav")
    print("All of it is there")


def write_notebook():
    picture = base64.b64encode(draw_picture(40, 30)).decode()
    shown = {"text/html": [f"<script>{HARM}</script>"], "text/plain": ["the plain ", "table"]}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["counted\\n"]},
        {"output_type": "execute_result", "data": shown},
        {"output_type": "display_data", "data": {"image/png": picture}},
        {"output_type": "display_data", "data": {"image/svg+xml": f"<svg onload=\\"{HARM}\\"/>", "application/javascript": HARM}},
        {"output_type": "error", "traceback": ["\\x1b[31mZeroDivisionError\\x1b[0m: division by zero"]},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Study\\n", f"<script>{HARM}</script>"]},
        {"cell_type": "code", "source": "1 / 0", "outputs": outputs},
    ]
    return {"nbformat": 4, "cells": cells}


def draw_picture(width, height):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(
        b"\\0" + b"".join(bytes((60 + x * 160 // width, 80, 200 - y * 120 // height)) for x in range(width)) for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_paper():
    text = b"BT /F1 36 Tf 60 700 Td (A page of paper) Tj ET"
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >> stream\\n%s\\nendstream" % (len(text), text),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    paper, places = b"%PDF-1.4\\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(paper))
        paper += b"%d 0 obj %s endobj\\n" % (number, part)
    table = b"".join(b"%010d 00000 n \\n" % place for place in places)
    end = b"trailer << /Size 6 /Root 1 0 R >>\\nstartxref\\n%d\\n%%%%EOF\\n" % len(paper)
    return paper + b"xref\\n0 6\\n0000000000 65535 f \\n" + table + end


def write_sound(path):
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(at / 3))) for at in range(4000)))
`,
};

/** Tries to reach a server of a private network, which its router refuses. No packet leaves the machine. */
export const KNOCK = {
  "config.yaml": `name: Knock
limits: { network: true }
triggers:
  api: { enabled: true }
`,
  "main.py": `import socket


def main():
    try:
        socket.create_connection(("10.255.255.254", 5432), timeout=5)
    except OSError as error:
        print(type(error).__name__)
`,
};
