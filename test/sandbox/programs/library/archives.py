import gzip
import io
import tarfile
import zipfile
import zlib


def main():
    with zipfile.ZipFile("outputs/all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("a.txt"), "text" * 100)
    with tarfile.open("/tmp/x.tar", "w") as archive:
        info = tarfile.TarInfo("b.txt")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
    packed = gzip.compress(b"x" * 1000, mtime=0)
    return [zipfile.ZipFile("outputs/all.zip").namelist(), tarfile.open("/tmp/x.tar").getnames(), len(packed), zlib.crc32(b"x")]
