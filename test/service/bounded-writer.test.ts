/**
 * The writer behind the log: it never waits, keeps what it can, and tells how many lines it lost, where they
 * are missing.
 */

import t from 'tap';
import { BoundedWriter, type Sink } from '../../src/service/bounded-writer.ts';

/** A sink that is let go on by the test. */
function held(mostBytes: number) {
  const asked: { lines: string; written: Parameters<Sink>[1] }[] = [];
  const writer: BoundedWriter = new BoundedWriter({
    sink: (lines, written) => asked.push({ lines, written }),
    mostBytes,
    retryMs: 3_600_000,
    lost: lines => writer.write(`lost ${lines}\n`),
  });
  const next = (error?: Error): string => {
    const first = asked.shift();
    if (first === undefined) throw new Error('nothing is to be written');
    first.written(error);
    return first.lines;
  };
  return { writer, asked, next };
}

t.test('lines go out in their order, many at once, one batch after the other', async t => {
  const { writer, asked, next } = held(1000);
  for (const line of ['a\n', 'b\n', 'c\n']) writer.write(line);
  t.equal(asked.length, 1);
  t.equal(next(), 'a\n');
  t.equal(next(), 'b\nc\n');
  t.equal(asked.length, 0);
  t.equal(await writer.flush(0), true);
});

t.test(
  'what has no room is counted, and told where it is missing, once half of the room is free',
  async t => {
    const { writer, asked, next } = held(30);
    writer.write('first 10.\n');
    writer.write('second 10\n');
    writer.write('third 10.\n');
    writer.write('no room 1\n');
    writer.write('\n');
    t.equal(next(), 'first 10.\n');
    writer.write('no room 3\n');
    t.equal(next(), 'second 10\nthird 10.\n');
    t.equal(next(), 'lost 3\n');
    writer.write('again\n');
    t.equal(next(), 'again\n');
    t.equal(asked.length, 0);
  },
);

t.test('a line that is longer than all the room is counted too', async t => {
  const { writer, next } = held(30);
  writer.write(`${'x'.repeat(40)}\n`);
  t.equal(next(), 'lost 1\n');
});

t.test('lines that the sink failed to write are counted, and it goes on when it is tried again', async t => {
  const { writer, asked, next } = held(30);
  writer.write('a\n');
  next(new Error('no space left'));
  writer.write('b\n');
  t.equal(asked.length, 0, 'it rests');
  const flushed = writer.flush(3_600_000);
  t.equal(next(), 'lost 2\n');
  t.equal(await flushed, true);
});

t.test('a flush ends when all is written, when the sink fails, and when its time is over', async t => {
  const { writer, next } = held(30);
  writer.write('a\n');
  t.equal(await writer.flush(1), false);
  t.equal(writer.isWriting, true);
  const written = writer.flush(3_600_000);
  next();
  t.equal(await written, true);
  writer.write('b\n');
  const failed = writer.flush(3_600_000);
  next(new Error('nobody reads'));
  t.equal(await failed, false);
  t.equal(writer.isWriting, false);
});
