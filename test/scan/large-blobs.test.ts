/** The large files that a push brings, as git itself says them. */

import { randomBytes } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mock } from 'node:test';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { messageOf } from '../../src/errors.ts';
import type { LargeBlobsLook } from '../../src/layout/index.ts';
import { lookForLargeBlobs } from '../../src/scan/large-blobs.ts';
import { Pack } from '../../src/scan/pack.ts';
import { CannotTell } from '../../src/scan/pack-index.ts';
import { type PushedGround, pushedGround } from './pushed.ts';

/** A text that deflates and deltas well. */
function text(bytes: number, begins = ''): Buffer {
  const line = `${begins} the quick brown fox jumps over the lazy dog`;
  const lines = Array.from({ length: Math.ceil(bytes / line.length) }, (_, at) => `${at}${line}`);
  return Buffer.from(lines.join('\n')).subarray(0, bytes);
}

function changed(content: Buffer, at = 1000): Buffer {
  const copy = Buffer.from(content);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

function sizesOf(look: LargeBlobsLook): readonly number[] {
  if (look.is === 'unknown') throw new Error(look.why);
  return look.blobs.map(({ bytes }) => bytes);
}

/** Holds the answers for some sizes against what git says. */
function same(t: Test, ground: PushedGround, sizes: readonly number[], what = ''): void {
  const all = ground.truth(0);
  for (const size of sizes) {
    const truth = all.filter(({ bytes }) => bytes > size);
    const look = ground.look(size);
    t.same(
      sizesOf(look),
      truth.slice(0, 10).map(({ bytes }) => bytes),
      `${what} over ${size}`,
    );
    const told = look.is === 'seen' ? look.blobs : [];
    const isTrue = told.every(blob =>
      truth.some(each => each.object === blob.object && each.bytes === blob.bytes),
    );
    t.ok(isTrue, `${what} over ${size}, with their ids`);
  }
}

function packOf(quarantine: string, ending = '.pack'): string {
  const name = readdirSync(join(quarantine, 'pack')).find(each => each.endsWith(ending));
  if (name === undefined) throw new Error('there is no pack');
  return join(quarantine, 'pack', name);
}

for (const format of ['sha1', 'sha256'] as const)
  t.test(`a file's size is that of its content, however git stores it (${format})`, async t => {
    for (const unpackLimit of [1, 1000]) {
      const ground = pushedGround(t, { format, unpackLimit });
      const old = text(300_000);
      const noise = randomBytes(200_000);
      ground.commit({ 'old.txt': old, 'noise.bin': noise, small: 'small' });
      ground.refuse();
      const what = unpackLimit === 1 ? 'in a pack' : 'loose';
      same(t, ground, [0, 5, 199_999, 200_000, 299_999, 300_000], what);
      t.same(sizesOf(ground.look(100_000)), [300_000, 200_000], what);
      ground.push();
      ground.commit({ 'old.txt': changed(old), 'noise.bin': changed(noise, 5) });
      ground.refuse('--no-thin', 'HEAD:main');
      same(t, ground, [100_000, 250_000], `${what}, a byte changed`);
      ground.refuse('--thin', 'HEAD:main');
      same(t, ground, [100_000, 250_000], `${what}, a byte changed, thin`);
      t.same(sizesOf(ground.look(100_000)), [300_000, 200_000], 'only the new content is brought');
    }
  });

t.test('a change beside a large file that is there already brings no large file', async t => {
  const ground = pushedGround(t);
  const base = text(300_000);
  ground.commit({ 'large.txt': base });
  ground.push();
  ground.commit({ 'large.txt': base.subarray(0, 250_000) });
  ground.push();
  ground.commit({ 'small.txt': base.subarray(0, 90_000) });
  ground.refuse('--thin', 'HEAD:main');
  same(t, ground, [95_000, 80_000]);
  t.same(sizesOf(ground.look(95_000)), [], 'a base that git adds to a thin pack is not brought');
  ground.git(ground.repository, 'repack', '-adq');
  t.same(sizesOf(ground.look(95_000)), [], 'packed');
  ground.git(ground.repository, 'multi-pack-index', 'write');
  t.same(sizesOf(ground.look(95_000)), [], 'with an index of several packs');
});

t.test('what the repository borrows is not brought', async t => {
  const ground = pushedGround(t);
  ground.commit({ 'large.txt': text(300_000) });
  ground.push();
  const lender = join(ground.folder, 'lender.git');
  const borrower = join(ground.folder, 'borrower/objects');
  cpSync(ground.repository, lender, { recursive: true });
  mkdirSync(join(borrower, 'info'), { recursive: true });
  ground.commit({ 'another.txt': text(200_000, 'another') });
  ground.refuse('--no-thin', '--force', 'HEAD:main', 'HEAD~1:refs/heads/again');
  const { quarantine } = ground;
  const question = { quarantine, objects: borrower, overBytes: 100_000, deadlineMs: 10_000 };
  const look = () => lookForLargeBlobs(question);
  cpSync(join(ground.repository, 'objects/pack'), join(ground.quarantine, 'pack'), { recursive: true });
  t.same(sizesOf(look()), [300_000, 200_000], 'two packs are looked at');
  writeFileSync(join(borrower, 'info/alternates'), '# lent\n../../middle\n');
  mkdirSync(join(ground.folder, 'middle/info'), { recursive: true });
  writeFileSync(join(ground.folder, 'middle/info/alternates'), `${lender}/objects\n`);
  t.same(sizesOf(look()), [200_000]);
  writeFileSync(join(borrower, 'info/alternates'), `"${lender}/objects"\n`);
  t.match(look(), { is: 'unknown', why: /alternates has a path in quotes/ });
});

t.test('commits, trees and tags are no files, also as deltas', async t => {
  const ground = pushedGround(t);
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`file-${at}`, `${at}`]));
  ground.commit(many);
  ground.commit({ 'file-7': 'changed', 'middle.txt': text(9000) });
  ground.git(ground.work, 'commit', '-q', '--allow-empty', '-m', text(30_000).toString());
  ground.git(ground.work, 'tag', '-a', 'v1', '-m', text(40_000).toString());
  ground.refuse('HEAD:main', 'v1');
  same(t, ground, [8000]);
  t.same(sizesOf(ground.look(8000)), [9000]);
  ground.git(ground.repository, 'config', 'receive.unpackLimit', '10000');
  ground.refuse('HEAD:main', 'v1');
  t.same(sizesOf(ground.look(8000)), [9000], 'loose');
});

t.test('where time is over, the largest loose objects were read', async t => {
  const ground = pushedGround(t);
  const quarantine = ground.quarantine;
  const add = (name: number, content: Buffer) => {
    const id = name.toString(16).padStart(40, '0');
    mkdirSync(join(quarantine, id.slice(0, 2)), { recursive: true });
    const object = Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]);
    writeFileSync(join(quarantine, id.slice(0, 2), id.slice(2)), deflateSync(object));
  };
  for (let name = 0; name < 300; name++)
    add(name, name % 30 === 17 ? text(200_000 + name) : randomBytes(500));
  // Each look at the clock takes a millisecond: three for the list, then one for each hundred.
  let now = 0;
  const clock = mock.method(performance, 'now', () => Math.min(now++, 7));
  t.teardown(() => clock.mock.restore());
  const largest = [287, 257, 227, 197, 167, 137, 107, 77, 47, 17].map(each => 200_000 + each);
  t.same(sizesOf(ground.look(100_000, 8)), largest);
});

t.test('100,000 objects are looked through, and the largest are told', async t => {
  const ground = pushedGround(t);
  const stream = Array.from({ length: 100_000 }, (_, at) => {
    const content = `${at} ${'x'.repeat(at % 1000)}`;
    return `blob\ndata ${content.length}\n${content}\n`;
  });
  const names = stream.map((_, at) => `M 100644 :${at + 1} d${at % 300}/f${at}\n`);
  const marked = stream.map((each, at) => each.replace('blob\n', `blob\nmark :${at + 1}\n`));
  const author = 'author A <a@example.org> 0 +0000\ncommitter A <a@example.org> 0 +0000\n';
  const file = join(ground.folder, 'stream');
  writeFileSync(file, `${marked.join('')}commit refs/heads/main\n${author}data 0\n${names.join('')}\n`);
  ground.git(ground.work, '-c', `alias.load=!git fast-import --quiet <'${file}'`, 'load');
  ground.git(ground.work, 'config', 'pack.window', '0');
  ground.refuse('main:main');
  same(t, ground, [1004, 1003, 998, 0]);
  t.match(ground.look(0, -1), { is: 'unknown', why: /time/ });
});

t.test('a size that is told behind nothing, or a pack that is damaged, cannot be told', async t => {
  const ground = pushedGround(t);
  const base = text(50_000);
  ground.commit({ 'a.txt': base });
  ground.commit({ 'a.txt': changed(base) });
  ground.refuse();
  const [pack, index] = [packOf(ground.quarantine), packOf(ground.quarantine, '.idx')];
  const [packBytes, indexBytes] = [readFileSync(pack), readFileSync(index)];
  const unknown = (what: string, changedPack: Buffer | null, changedIndex: Buffer | null = null) => {
    writeFileSync(pack, changedPack ?? packBytes);
    writeFileSync(index, changedIndex ?? indexBytes);
    t.equal(ground.look(1000).is, 'unknown', what);
  };
  unknown('cut', packBytes.subarray(0, -100));
  unknown('empty', Buffer.alloc(0));
  unknown('index cut', null, indexBytes.subarray(0, -1));
  unknown('no index', null, Buffer.alloc(0));
  const other = Buffer.from(indexBytes);
  other[other.length - 30] = (other[other.length - 30] ?? 0) ^ 1;
  unknown('index of another pack', null, other);
  const count = indexBytes.readUInt32BE(8 + 255 * 4);
  const outside = Buffer.from(indexBytes);
  outside.writeUInt32BE(packBytes.length - 20, 8 + 1024 + count * 24);
  unknown('an offset outside', null, outside);
  const far = Buffer.from(indexBytes);
  far.writeUInt32BE(2 ** 31 + 5, 8 + 1024 + count * 24);
  unknown('a place in a table that is not there', null, far);
  const endless = Buffer.from(packBytes);
  endless.fill(0xff, 12, 40);
  writeFileSync(pack, endless);
  writeFileSync(index, indexBytes);
  t.same(sizesOf(ground.look(1000)), [50_000, 50_000], 'a size without an end hides no other');
  writeFileSync(pack, packBytes);
  writeFileSync(index, indexBytes);
  t.same(sizesOf(ground.look(1000)), [50_000, 50_000]);
});

/** The head of an entry, with four bits of its size in the first byte and seven in each other. */
function headOf(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 0xf)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

/** Writes a pack and its index with these entries, whatever they say. */
function writePack(ground: PushedGround, entries: readonly (readonly [id: string, bytes: Buffer])[]): void {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(entries.length, 8);
  const sum = Buffer.alloc(20, 7);
  const pack = Buffer.concat([head, ...entries.map(([, bytes]) => bytes), sum]);
  let at = head.length;
  const placed = entries.map(([id, { length }]) => {
    at += length;
    return { id: Buffer.from(id, 'hex'), offset: at - length };
  });
  placed.sort((a, b) => Buffer.compare(a.id, b.id));
  const table = Buffer.alloc(1024);
  for (let byte = 0; byte < 256; byte++)
    table.writeUInt32BE(placed.filter(({ id }) => (id[0] ?? 0) <= byte).length, 4 * byte);
  const offsets = Buffer.alloc(4 * placed.length);
  for (const [place, { offset }] of placed.entries()) offsets.writeUInt32BE(offset, 4 * place);
  const ids = placed.map(({ id }) => id);
  const sums = Buffer.alloc(4 * placed.length);
  const signature = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
  const folder = join(ground.quarantine, 'pack');
  mkdirSync(folder, { recursive: true });
  const name = join(folder, `pack-${'7'.repeat(40)}`);
  writeFileSync(`${name}.pack`, pack);
  writeFileSync(`${name}.idx`, Buffer.concat([signature, table, ...ids, sums, offsets, sum, sum]));
}

t.test('the type of a delta is that of its last base, and a loop has none', async t => {
  const ground = pushedGround(t);
  const [a, b, c] = ['aa', 'bb', 'cc'].map(byte => byte.repeat(20)) as [string, string, string];
  const id = (hex: string) => Buffer.from(hex, 'hex');
  // A delta of a text of 5 bytes that comes to 4,500,000.
  const delta = deflateSync(Buffer.from([5, 0xa0, 0xd4, 0x92, 0x02, 0x90, 5]));
  const small = (type: number) => Buffer.concat([headOf(type, 5), deflateSync(Buffer.from('small'))]);
  const upon = (base: string) => Buffer.concat([headOf(7, 7), id(base), delta]);
  const before = (distance: number) => Buffer.concat([headOf(6, 7), Buffer.from([distance]), delta]);
  const look = (...entries: Parameters<typeof writePack>[1]) => {
    writePack(ground, entries);
    return ground.look(4_000_000);
  };
  const large = { is: 'seen', blobs: [{ object: b, bytes: 4_500_000 }] };
  const none = { is: 'seen', blobs: [] };
  const [file, tree] = [small(3), small(2)];
  t.same(look([a, file], [b, upon(a)]), large);
  t.same(look([b, upon(a)], [a, file]), large, 'a base behind its delta');
  t.same(look([a, file], [b, before(file.length)]), large);
  t.same(look([a, tree], [b, before(file.length)]), none, 'a tree');
  t.same(look([a, tree], [c, upon(a)], [b, upon(c)]), none, 'a delta of a delta of a tree');
  const unknown = { is: 'unknown' };
  t.match(look([b, upon(b)]), unknown, 'its own base');
  t.match(look([b, upon(c)], [c, upon(b)]), unknown, 'a loop');
  t.match(look([b, upon(a)]), unknown, 'a base that is not there');
  t.match(look([b, before(100)]), unknown, 'a base before the pack');
  t.match(look([b, headOf(5, 9)]), unknown, 'an unknown type');
  t.match(look([b, Buffer.concat([headOf(7, 7), id(a), Buffer.alloc(90)])], [a, file]), unknown);
  const huge = Buffer.concat([headOf(7, 7), id(a), deflateSync(Buffer.alloc(19, 0xff))]);
  t.match(look([b, huge], [a, file]), unknown, 'a result without an end');
});

t.test('one entry that is hard to read hides no large file, itself or another', async t => {
  const ground = pushedGround(t);
  const [a, b, c] = ['aa', 'bb', 'cc'].map(byte => byte.repeat(20)) as [string, string, string];
  const padded = (number: readonly number[], zeros: number) =>
    Buffer.from([...number.slice(0, -1), (number.at(-1) ?? 0) | 0x80, ...Array(zeros - 1).fill(0x80), 0]);
  const content = deflateSync(Buffer.from('small'));
  const small = Buffer.concat([headOf(3, 5), content]);
  const upon = (base: string, stream: Buffer) =>
    Buffer.concat([headOf(7, 7), Buffer.from(base, 'hex'), stream]);
  const result = [0xa0, 0xd4, 0x92, 0x02];
  const look = (...entries: Parameters<typeof writePack>[1]) => {
    writePack(ground, entries);
    return ground.look(4_000_000);
  };
  const large = { is: 'seen', blobs: [{ object: b, bytes: 4_500_000 }] };
  for (const zeros of [1, 10, 200, 3000]) {
    const plain = Buffer.concat([padded([...headOf(3, 4_500_000)], zeros), content]);
    t.same(look([b, plain]), large, `${zeros} zeros behind a size`);
    const delta = Buffer.concat([padded([5], Math.min(zeros, 2000)), padded(result, Math.min(zeros, 2000))]);
    t.same(
      look([a, small], [b, upon(a, deflateSync(delta))]),
      large,
      `${zeros} zeros behind the sizes of a delta`,
    );
  }
  const stored = (bytes: readonly number[]) => [
    bytes.length === 0 ? 0 : 1,
    bytes.length,
    0,
    255 - bytes.length,
    255,
    ...bytes,
  ];
  const streamBehind = (blocks: number) =>
    Buffer.from([0x78, 0x01, ...Array(blocks).fill(stored([])).flat(), ...stored([5, ...result, 0x90, 5])]);
  const hollow = (blocks: number) => upon(a, Buffer.concat([streamBehind(blocks), Buffer.alloc(80)]));
  t.same(look([a, small], [b, hollow(1000)]), large, 'blocks that hold nothing');
  t.match(look([a, small], [b, hollow(20_000)]), { is: 'unknown', why: /damaged/ }, 'too many of them');
  const largest = Buffer.concat([headOf(3, 4_500_000), content]);
  t.same(look([c, hollow(20_000)], [a, small], [b, largest]), large, 'beside a large file');
  t.same(look([c, upon(c, streamBehind(0))], [b, largest]), large, 'a loop beside a large file');
  t.same(look([c, headOf(5, 9)], [b, largest]), large, 'an unknown type beside a large file');
  const endless = Buffer.concat([Buffer.from([0xb0]), Buffer.alloc(10, 0xff), Buffer.from([1]), content]);
  t.same(sizesOf(look([b, endless])), [Number.MAX_SAFE_INTEGER], 'a size that no number holds');
  mkdirSync(join(ground.quarantine, 'ab'));
  writeFileSync(join(ground.quarantine, 'ab', 'c'.repeat(38)), Buffer.alloc(9000));
  t.same(look([b, largest]), large, 'a damaged loose object beside a large file');
  writePack(ground, [[a, small]]);
  t.equal(ground.look(1000).is, 'unknown');
});

t.test('plain entries are told before deltas, and no tree takes the place of a file', async t => {
  const ground = pushedGround(t);
  const idOf = (at: number) => at.toString(16).padStart(40, '0');
  const [tree, file] = [idOf(1), idOf(2)];
  const content = deflateSync(Buffer.from('small'));
  const delta = deflateSync(Buffer.from([5, 0xa0, 0xd4, 0x92, 0x02, 0x90, 5]));
  const upon = Buffer.concat([headOf(7, 7), Buffer.from(tree, 'hex'), delta]);
  const entries = Array.from({ length: 20_000 }, (_, at) => [idOf(at + 10), upon] as const);
  writePack(ground, [
    [tree, Buffer.concat([headOf(2, 5), content])],
    ...entries,
    [file, Buffer.concat([headOf(3, 9000), content])],
  ]);
  const look = (most: number, mayGoOn: () => void) => {
    const pack = Pack.open(packOf(ground.quarantine).slice(0, -5), 20, mayGoOn);
    let untold: string | null = null;
    const blobs = pack.largeBlobs(1000, most, step => {
      try {
        step();
      } catch (error) {
        untold ??= messageOf(error);
      }
    });
    pack.close();
    return { sizes: blobs.map(({ bytes }) => bytes), untold };
  };
  t.same(
    look(2, () => {}),
    { sizes: [9000], untold: null },
  );
  let left = 12;
  const ends = (): void => {
    if (--left < 0) throw new CannotTell('the time is over');
  };
  t.same(look(2, ends), { sizes: [9000], untold: 'the time is over' });
});

t.test('directories that are borrowed from many times are read once', async t => {
  const ground = pushedGround(t);
  ground.commit({ 'large.txt': text(9000) });
  ground.refuse();
  const names = Array.from({ length: 6 }, (_, at) => join(ground.folder, `lender-${at}`));
  for (const [at, name] of names.entries()) {
    mkdirSync(join(name, 'info'), { recursive: true });
    writeFileSync(join(name, 'info/alternates'), `${names[at + 1] ?? name}\n`.repeat(50));
  }
  const [objects = ''] = names;
  const question = { quarantine: ground.quarantine, objects, overBytes: 1000, deadlineMs: 5000 };
  t.same(sizesOf(lookForLargeBlobs(question)), [9000]);
});

t.test('whatever bytes are in a quarantine, the answer is a size or that it cannot be told', async t => {
  const ground = pushedGround(t);
  const base = text(20_000);
  ground.commit({ 'a.txt': base, 'b.txt': text(500) });
  ground.commit({ 'a.txt': changed(base) });
  ground.refuse();
  const loose = deflateSync(Buffer.concat([Buffer.from('blob 9000\0'), text(9000)]));
  const files = [
    { path: packOf(ground.quarantine), bytes: readFileSync(packOf(ground.quarantine)) },
    { path: packOf(ground.quarantine, '.idx'), bytes: readFileSync(packOf(ground.quarantine, '.idx')) },
    { path: join(ground.quarantine, 'ab', 'c'.repeat(38)), bytes: loose },
  ] as const;
  mkdirSync(join(ground.quarantine, 'ab'));
  for (const { path } of files.slice(0, 2)) chmodSync(path, 0o644);
  const edit = fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.boolean() });
  fc.assert(
    fc.property(fc.constantFrom(0, 1, 2), fc.array(edit, { maxLength: 4 }), (which, edits) => {
      for (const [index, { path, bytes }] of files.entries()) {
        let content = Buffer.from(bytes);
        for (const { at, byte, cut } of index === which ? edits : []) {
          if (cut && at % 5 === 0) content = content.subarray(0, at % (content.length + 1));
          else content[at % content.length] = byte;
        }
        writeFileSync(path, content);
      }
      const look = ground.look(1000, 1000);
      return look.is === 'unknown' ? look.why !== '' : look.blobs.every(({ bytes }) => bytes > 1000);
    }),
    { numRuns: 1000 },
  );
  t.pass();
});
