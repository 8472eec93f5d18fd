/** Texts by row and rows by text, against a map. */

import fc from 'fast-check';
import t from 'tap';
import { noRow } from '../src/columns.ts';
import { TextTable } from '../src/text-table.ts';
import { isLong } from './run-length.ts';

/** Few enough that the same texts come and go again and again. */
const texts = [
  '',
  '/',
  '/a',
  '/a/b',
  'alice\0size:git:lfs\0x',
  '/\ud800',
  '/ü',
  '/\ufffd',
  `/${'long/'.repeat(300)}`,
];

const seed = Date.now() % 2 ** 31;
const steps = isLong ? 3_000_000 : 60_000;

t.test('it holds what a map would hold, whatever comes and goes', async t => {
  const table = new TextTable();
  const rows = new Map<string, number>();
  const free: number[] = [];
  let step = 0;
  for (const number of fc.sample(fc.nat(), { numRuns: steps, seed })) {
    const some = texts[number % texts.length] ?? '';
    const text = number % 10 === 0 ? some : `${some}/${(number >> 5) % 2000}`;
    const isOdd = (number >> 20) % 5 === 0;
    const row = rows.get(text);
    if (table.find(text) !== (row ?? noRow))
      t.fail(`seed ${seed}: ${JSON.stringify(text)} is not in row ${row}`);
    // It grows, shrinks and grows again.
    const isGrowing = step++ % 20_000 < 13_000;
    if (row === undefined && (isGrowing || isOdd)) {
      const next = free.pop() ?? rows.size;
      table.add(next, text);
      rows.set(text, next);
    } else if (row !== undefined && (!isGrowing || isOdd)) {
      table.remove(row);
      rows.delete(text);
      free.push(row);
    }
  }
  t.equal(table.size, rows.size);
  t.ok([...rows].every(([text, row]) => table.text(row) === text && table.find(text) === row));
});

t.test('a part is found where the text has it, whatever characters it has', async t => {
  const table = new TextTable();
  const whole = ['alice', '', 'zoë/ü', '\ud800x', `${'a'.repeat(200)}b`];
  for (const [row, text] of whole.entries()) table.add(row, text);
  for (const part of ['', 'a', 'lic', 'alice', 'alices', 'e', 'ë/', 'ü', 'x', 'ab', 'b', 'zoe']) {
    t.strictSame(
      whole.map((_, row) => table.contains(row, Buffer.from(part))),
      whole.map(text => text.includes(part)),
      JSON.stringify(part),
    );
  }
  t.notOk(table.contains(whole.length, Buffer.from('')), 'a row without a text');
});

t.test('it finds the innermost text that a path is or lies in', async t => {
  const table = new TextTable();
  for (const [row, text] of ['/a', '/a/b/c', '/ü/\udcff', 'a'].entries()) table.add(row, text);
  const found = (path: string, isWanted = (_row: number) => true) => table.findAbove(path, isWanted);
  t.strictSame(
    ['/a/b/c/d', '/a/b/c', '/a/b', '/a', '/ab', '/', ''].map(path => found(path)),
    [1, 1, 0, 0, -1, -1, -1],
  );
  t.equal(
    found('/a/b/c', row => row !== 1),
    0,
  );
  t.equal(found('/ü/\udcff/x'), 2);
  t.equal(found(`/a/b/c/${'long/'.repeat(1000)}`), 1, 'a path longer than any before');
});

t.test('the room of texts that went is given up, though some between them stay', async t => {
  const table = new TextTable();
  const text = (row: number) => `${row}`.padStart(100, '/');
  for (let row = 0; row < 60_000; row += 1) table.add(row, text(row));
  t.ok(table.blockBytes > 6_000_000);
  for (let row = 0; row < 60_000; row += 1) if (row % 20 > 0) table.remove(row);
  for (let change = 0; change < 20_000; change += 1) {
    table.add(1, text(1));
    table.remove(1);
  }
  t.ok(table.blockBytes < 4_000_000, `${table.blockBytes} bytes`);
  t.ok(Array.from({ length: 3000 }, (_, at) => 20 * at).every(row => table.find(text(row)) === row));
});

t.test('a text without bytes stays when all beside it have gone', async t => {
  const table = new TextTable();
  table.add(0, '');
  for (let row = 1; row < 2000; row += 1) table.add(row, `${row}`.padStart(1000, '/'));
  for (let row = 1; row < 2000; row += 1) table.remove(row);
  t.equal(table.find(''), 0);
  t.equal(table.text(0), '');
});

t.test('it finds texts that were expected, as many as there are, fewer and more', async t => {
  for (const expected of [0, 1, 2, 500, 1000, 1300]) {
    const table = new TextTable();
    table.expect(expected);
    for (let row = 0; row < 1000; row += 1) table.add(row, `${row}`);
    t.ok(
      Array.from({ length: 1000 }, (_, row) => table.find(`${row}`)).every((found, row) => found === row),
      `${expected} were expected`,
    );
    t.equal(table.find('1000'), noRow);
  }
});

t.test('it tells whether a row has a text, of ASCII alone', async t => {
  const table = new TextTable();
  for (const [row, text] of ['alice', 'ü', ''].entries()) table.add(row, text);
  t.ok(table.isAscii(0, 'alice'));
  t.ok(table.isAscii(2, ''));
  t.notOk(table.isAscii(0, 'alicf'));
  t.notOk(table.isAscii(0, 'alic'));
  t.notOk(table.isAscii(1, 'ü'));
  t.notOk(table.isAscii(1, '\u00c3\u00bc'), 'the bytes of another text');
  t.notOk(table.isAscii(-1, ''), 'no row');
  t.notOk(table.isAscii(3, ''), 'a row without a text');
});
