const BLOCK = 512;

interface TarOptions {
  /** As tar writes it: `0` a file, `5` a folder, `2` a symbolic link, `x` a pax header. */
  readonly type?: string;
  readonly link?: string;
  /** What the header says, whatever the content is. */
  readonly size?: number;
  /** The twelve bytes of the size themselves. */
  readonly rawSize?: string;
}

/** One entry of a tar as bytes, with a true checksum and nothing else that has to be true. Text is Latin-1. */
export function aTarEntry(name: string, content: string, options: TarOptions = {}): Buffer {
  const { type = "0", link = "", size = content.length } = options;
  const header = Buffer.alloc(BLOCK);
  header.write(name.slice(0, 100), 0, "latin1");
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(options.rawSize ?? `${size.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  header.write("00000000000\0", 136);
  header.write(" ".repeat(8), 148);
  header.write(type, 156);
  header.write(link.slice(0, 100), 157, "latin1");
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = (BLOCK - (content.length % BLOCK)) % BLOCK;
  return Buffer.concat([header, Buffer.from(content, "latin1"), Buffer.alloc(padding)]);
}

/** A whole archive: the entries and the two empty blocks that end it. */
export function aTar(entries: readonly Buffer[]): Buffer {
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)]);
}
