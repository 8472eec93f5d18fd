/** Splits what comes over a connection into lines of bounded length. */

import type { Readable } from 'node:stream';

interface LineReader {
  /** The longest line, in bytes without its end. */
  readonly mostBytes: number;
  take(line: Buffer): void;
  /** Called once, where a line is longer; nothing more is read then. */
  tooLong(): void;
}

const lineFeed = 0x0a;

/** Gives each line that comes, without its end. What comes behind the last line feed is no line. */
export function takeLines(stream: Readable, { mostBytes, take, tooLong }: LineReader): void {
  let pieces: Buffer[] = [];
  let length = 0;
  const read = (chunk: Buffer): void => {
    let start = 0;
    while (start < chunk.length) {
      const end = chunk.indexOf(lineFeed, start);
      const piece = chunk.subarray(start, end === -1 ? chunk.length : end);
      length += piece.length;
      if (length > mostBytes) {
        stream.off('data', read);
        tooLong();
        return;
      }
      pieces.push(piece);
      if (end === -1) return;
      const line = Buffer.concat(pieces);
      pieces = [];
      length = 0;
      start = end + 1;
      take(line);
    }
  };
  stream.on('data', read);
}
