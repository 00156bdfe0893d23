"""Archives that write beside themselves, or grow a thousandfold, when somebody unpacks them."""

import io
import tarfile
import zipfile

from siege import INPUTS, finish

with tarfile.open("outputs/climbing.tar", "w") as archive:
    member = tarfile.TarInfo("../" + INPUTS["name"])
    member.size = 4
    archive.addfile(member, io.BytesIO(b"mark"))
with zipfile.ZipFile("outputs/bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("big", b"\0" * (20 << 20))
finish()
