/**
 * The refusals of now, published for hooks: the right lines, the right rights, in time, and whatever happens.
 */

import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { mock } from 'node:test';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Refusals } from '../../src/gate/index.ts';
import { encodePath } from '../../src/layout/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { unassign } from '../../src/policy/index.ts';
import { type Leaf, leaves, type QuotaSettings, refusal, subjects } from '../../src/quota/index.ts';
import { directoryFor, lfs, settings, World, type WorldOptions, walk } from '../ledger/world.ts';
import { longestTurn } from '../own-time.ts';
import { grouped } from '../quota/grouped.ts';
import { publishedBy } from './world.ts';

interface Options extends Partial<ConstructorParameters<typeof Refusals>[0]> {
  readonly world?: WorldOptions;
}

async function publishing(t: Test, { world, ...differing }: Options = {}) {
  const ledger = await new World(t, world).open();
  return { ledger, ...publishedBy(t, ledger, { foldCase: world?.foldCase ?? true, ...differing }) };
}

/** The lines about owners whose every subject is refused for the same reason. */
const everySubject = (owner: string, message: string) =>
  subjects.map(subject => `owner\t${owner}\t${subject}\t${message}`);

/** The lines about a repository that takes neither pushes nor LFS objects. */
const both = (path: string, message: string) => ['path', 'lfs'].map(kind => `${kind}\t${path}\t${message}`);

t.test('the file is called as the socket is, but for its ending', async t => {
  for (const [name, called] of [
    ['gate', 'gate.refused'],
    ['my.sock.d', 'my.sock.d.refused'],
  ] as const) {
    const socket = join(directoryFor(t), name);
    const { refusals } = await publishing(t, { socket });
    refusals.start();
    await refusals.published();
    t.ok(statSync(join(socket, '..', called)).isFile());
  }
});

t.test('owners over the limit and their repositories are in it, with the pushers’ words', async t => {
  const { ledger, refusals, file, lines } = await publishing(t);
  walk(ledger, 'Alice/app', 9_000);
  walk(ledger, 'Alice/wiki', 4_000, { leaf: 'size:assets:wiki' });
  walk(ledger, 'Alice/store', 0, { leaf: lfs });
  walk(ledger, 'bob/app', 10_000);
  refusals.start();
  const message = 'Quota exceeded: Alice uses 13 kB of 10 kB (130 %).';
  t.strictSame(await lines(), [
    ...everySubject('alice', message),
    ...['app', 'wiki'].flatMap(name => both(`/srv/git/Alice/${name}.git`, message)),
  ]);
  const [header] = readFileSync(file, 'utf8').split('\n');
  t.match(header, /^softquota refused\t1\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\tCASE=fold$/);
  t.equal((await lines()).length, subjects.length + 4);
});

t.test('every member of a full group is in it at once, until it is free again or they leave', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  const together = { name: 'together', limitBytes: 1000, subjects: ['size:all'], per: 'group' } as const;
  await grouped(ledger, ['alice', 'bob', 'carol'], [together], 'lab');
  walk(ledger, 'alice/app', 500);
  walk(ledger, 'bob/app', 400);
  refusals.start();
  const owners = async () => new Set((await lines()).map(line => line.split('\t')[1]));
  t.strictSame(await owners(), new Set());
  walk(ledger, 'bob/app', 600);
  const full = await lines();
  for (const [name, share] of [
    ['alice', '500 B'],
    ['bob', '600 B'],
  ]) {
    const message = `The group lab has 1.1 kB of 1 kB, of which you have ${share}.`;
    for (const line of everySubject(`${name}`, message)) t.ok(full.includes(line), line);
    t.ok(full.includes(`path\t/srv/git/${name}/app.git\t${message}`));
  }
  t.ok((await owners()).has('carol'));
  await ledger.documents.transact(transaction => {
    unassign(transaction.changes, transaction.mustBeOwner('carol').id, 'lab');
  });
  t.strictSame(await owners(), new Set(['alice', 'bob', '/srv/git/alice/app.git', '/srv/git/bob/app.git']));
  walk(ledger, 'alice/app', 100);
  t.strictSame(await owners(), new Set());
  const parts = [{ id: 'one', bytes: 500 }];
  const upload = { ownerName: 'alice', subject: lfs, parts, isReported: true, unit: null, seconds: 60 };
  ledger.admit(upload);
  t.ok((await owners()).has('bob'), 'what a member has reserved fills it, too');
});

t.test('repositories over a bound of each repository are in it by their paths', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  walk(ledger, 'alice/large', 700);
  walk(ledger, 'alice/small', 400);
  const each = { name: 'each', limitBytes: 500, subjects: ['size:git:all'], per: 'repository' } as const;
  await grouped(ledger, ['alice'], [each]);
  refusals.start();
  const tooLarge = (name: string, has: string) =>
    both(`/srv/git/alice/${name}.git`, `Repository alice/${name} is too large: it has ${has} of 500 B.`);
  t.strictSame(await lines(), tooLarge('large', '700 B'));
  walk(ledger, 'alice/large', 100);
  walk(ledger, 'alice/small.git/lfs', 200, { leaf: lfs, path: '/srv/git/alice/small.git/lfs' });
  t.strictSame(await lines(), tooLarge('small', '600 B'));
  ledger.settings = { ...settings, mode: 'report' };
  t.strictSame(await lines(), []);
});

t.test('an owner of many repositories keeps nobody waiting', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  for (let at = 0; at < 20_000; at++) walk(ledger, `alice/r${at}`, 0);
  const each = { name: 'each', limitBytes: 100, subjects: ['size:git:all'], per: 'repository' } as const;
  await grouped(ledger, ['alice'], [each]);
  refusals.start();
  const longest = await longestTurn(50, async () => {
    refusals.lookAtAll();
    t.strictSame(await lines(), []);
  });
  t.ok(longest < 50, `${longest} ms of one turn`);
  walk(ledger, 'alice/r7', 101);
  t.equal((await lines()).length, 2);
});

t.test('a limit of LFS refuses LFS objects alone, and one of private repositories pushes alone', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  for (const name of ['alice', 'bob']) {
    walk(ledger, `${name}/app`, 700);
    walk(ledger, `${name}/app.git/lfs`, 700, { leaf: lfs });
  }
  await grouped(ledger, ['alice'], [{ name: 'lfs', limitBytes: 500, subjects: [lfs] }], 'a');
  await grouped(
    ledger,
    ['bob'],
    [{ name: 'pushes', limitBytes: 500, subjects: ['size:repos:private'] }],
    'b',
  );
  refusals.start();
  const places = (await lines()).map(line => line.split('\t').slice(0, 2).join(' '));
  t.strictSame(
    places.filter(place => !place.startsWith('owner')),
    ['lfs /srv/git/alice/app.git', 'path /srv/git/bob/app.git'],
  );
});

t.test('names that would make other lines are left out, and bytes that are no UTF-8 stay', async t => {
  const { ledger, refusals, file, lines } = await publishing(t, { world: { foldCase: false } });
  walk(ledger, 'Al\tice/a', 10_001);
  walk(ledger, 'Bob/tab\there', 10_001);
  walk(ledger, 'Bob/line\nowner\tcarol\tsize:git:lfs\tx', 1);
  walk(ledger, 'Bob/odd\udcff', 1);
  walk(ledger, 'Bob/\u202eup', 1);
  refusals.start();
  const known = await lines();
  t.notOk(known.some(line => line.includes('carol')));
  t.notOk(known.some(line => line.includes('here')));
  t.strictSame(
    known.filter(line => line.startsWith('owner')).map(line => line.split('\t')[1]),
    subjects.map(() => 'Bob'),
    'as they are compared, which is with case here',
  );
  t.ok(known.some(line => line.startsWith('path\t/srv/git/Bob/\u202eup.git\t')));
  const odd = encodePath('/srv/git/Bob/odd\udcff.git');
  t.ok(typeof odd !== 'string' && readFileSync(file).includes(Buffer.concat([odd, Buffer.from('\t')])));
  t.match(readFileSync(file, 'utf8').split('\n')[0], /\tCASE=keep$/);
});

t.test('who may use the socket may read it, and nobody but the daemon write it', async t => {
  const { refusals, ledger, socket, file } = await publishing(t);
  const server = createServer().listen(socket);
  t.teardown(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  refusals.start();
  for (const [mode, expected] of [
    [0o660, 0o640],
    [0o600, 0o600],
    [0o666, 0o644],
    [0o620, 0o640],
  ] as const) {
    chmodSync(socket, mode);
    ledger.settings = settings;
    await refusals.published();
    t.equal(statSync(file).mode & 0o7777, expected);
  }
  t.equal(statSync(file).gid, statSync(socket).gid);
});

t.test('before the socket is there, its mode is what the configuration says', async t => {
  const { refusals, file } = await publishing(t, { socketMode: 0o666 });
  refusals.start();
  await refusals.published();
  t.equal(statSync(file).mode & 0o7777, 0o644);
});

t.test('the group of the socket is the group of the file', async t => {
  const { refusals, ledger, socket, file } = await publishing(t);
  const server = createServer().listen(socket);
  t.teardown(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  chownSync(socket, -1, 12_345);
  refusals.start();
  ledger.settings = settings;
  await refusals.published();
  t.equal(statSync(file).gid, 12_345);
});

t.test('nothing is written through what lies in the way, and a draft of a killed daemon is none', async t => {
  const { refusals, directory, file } = await publishing(t);
  const aim = join(directory, 'aim');
  writeFileSync(aim, 'as it was');
  symlinkSync(aim, `${file}.new`);
  symlinkSync(aim, file);
  refusals.start();
  await refusals.published();
  t.equal(readFileSync(aim, 'utf8'), 'as it was');
  t.ok(lstatSync(file).isFile());
});

t.test('what cannot be written is told once, tried again, and told when it is well', async t => {
  const { ledger, refusals, file, logged, lines } = await publishing(t);
  mkdirSync(`${file}.new`);
  refusals.start();
  await refusals.published();
  const { trouble } = refusals;
  t.match(trouble, { reason: /gate\.refused\.new/ });
  walk(ledger, 'alice/app', 10_001);
  await refusals.published();
  t.match(refusals.trouble, { since: trouble?.since });
  t.equal(logged.length, 1);
  rmdirSync(`${file}.new`);
  t.not((await lines()).length, 0);
  t.equal(refusals.trouble, null);
  t.strictSame(
    logged.map(({ level }) => level),
    ['error', 'info'],
  );
});

t.test('it is tried again by itself', async t => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { refusals, file } = await publishing(t, {
    log: { error: () => rmdirSync(`${file}.new`), info: () => resolve() },
  });
  mkdirSync(`${file}.new`);
  refusals.start();
  // A timer of its own does not keep the process alive.
  const alive = setInterval(() => {}, 1000);
  await promise;
  clearInterval(alive);
  t.equal(refusals.trouble, null);
});

t.test('a directory that others may write is told, since hooks do not believe what lies there', async t => {
  const { ledger, refusals, directory } = await publishing(t);
  chmodSync(directory, 0o770);
  refusals.start();
  await refusals.published();
  t.match(refusals.trouble, {
    reason: /^other users than the daemon's can write \/.*, so hooks do not trust/,
  });
  chmodSync(directory, 0o750);
  ledger.settings = settings;
  await refusals.published();
  t.equal(refusals.trouble, null);
});

t.test('it stays when the daemon ends, and nothing is written before it is started', async t => {
  const { ledger, refusals, file } = await publishing(t, { pauseMs: 60_000 });
  walk(ledger, 'alice/app', 10_001);
  await refusals.published();
  t.throws(() => statSync(file));
  refusals.start();
  await refusals.published();
  walk(ledger, 'bob/app', 10_001);
  await refusals.close();
  t.match(readFileSync(file, 'utf8'), /\nowner\tbob\t/);
  walk(ledger, 'carol/app', 10_001);
  await refusals.published();
  t.notMatch(readFileSync(file, 'utf8'), /carol/);
});

t.test('it is written anew within an hour, so that its time tells of a living daemon', async t => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const { refusals, file, lines } = await publishing(t);
  const written = () => statSync(file, { bigint: true }).ctimeNs;
  refusals.start();
  await lines();
  for (let hour = 0; hour < 3; hour++) {
    const before = written();
    mock.timers.tick(3_600_000);
    await refusals.published();
    t.not(written(), before);
  }
  await refusals.close();
  const last = written();
  mock.timers.tick(3_600_000);
  await refusals.published();
  t.equal(written(), last, 'and never after it was closed');
});

t.test('an owner whose bytes cannot be added up is left out, and the others are not', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  walk(ledger, 'alice/a', Number.MAX_SAFE_INTEGER);
  walk(ledger, 'alice/b', 1);
  walk(ledger, 'bob/a', 10_001);
  refusals.start();
  t.strictSame(
    new Set((await lines()).map(line => line.split('\t')[1])),
    new Set(['bob', '/srv/git/bob/a.git']),
  );
});

t.test('100,000 owners over the limit leave others their turn', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  for (let n = 0; n < 100_000; n++) walk(ledger, `o${n}/app`, n % 10 === 0 ? 10_001 : 1);
  refusals.start();
  let turns = 0;
  const beat = setInterval(() => turns++, 1);
  const count = (await lines()).length;
  clearInterval(beat);
  t.equal(count, 10_000 * (subjects.length + 2));
  t.ok(turns > 10);
});

/** Lines that must be in it, told from nothing but decisions. */
function expected(ledger: Ledger): string[] {
  const lines: string[] = [];
  if (ledger.settings.mode === 'report') return lines;
  for (const { name } of ledger.owners()) {
    for (const subject of subjects) {
      const { decision } = ledger.decide(name, subject);
      if (!decision.allowed) lines.push(`owner\t${name}\t${subject}\t${refusal(name, subject, decision)}`);
    }
  }
  for (const { name, owner, leaf, kind } of ledger.units.units) {
    if (owner === null || kind === 'reported' || !/repos|wiki/.test(leaf)) continue;
    for (const [kind, subject] of [
      ['path', leaf],
      ['lfs', lfs],
    ] as const) {
      const { decision } = ledger.decide(owner, subject);
      if (!decision.allowed) lines.push(`${kind}\t${name}\t${refusal(owner, subject, decision)}`);
    }
  }
  return lines.sort();
}

const owner = fc.constantFrom('alice', 'bob', 'carol');
const leaf = fc.constantFrom<Leaf>(...leaves);
const bytes = fc.constantFrom(0, 4_000, 6_000, 10_001);
const step = fc.oneof(
  fc.record({ do: fc.constant('walk' as const), owner, to: owner, leaf, bytes }),
  fc.record({ do: fc.constant('gone' as const), owner }),
  fc.record({ do: fc.constant('report' as const), owner, leaf, bytes }),
  fc.record({ do: fc.constant('delta' as const), owner, leaf, bytes }),
  fc.record({
    do: fc.constant('policy' as const),
    changed: fc.record({
      totalBytes: fc.constantFrom(-1, 0, 5_000, 10_000),
      enabled: fc.boolean(),
      mode: fc.constantFrom<QuotaSettings['mode']>('report', 'enforce', 'enforce', 'enforce'),
    }),
  }),
  fc.constant({ do: 'publish' as const }),
);

t.test('followed change by change it says what it would say if made anew', async t => {
  const { ledger, refusals, lines } = await publishing(t);
  refusals.start();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async steps => {
      for (const each of steps) {
        if (each.do === 'walk')
          walk(ledger, `${each.owner}/app`, each.bytes, { owner: each.to, leaf: each.leaf });
        if (each.do === 'gone')
          ledger.walks.recordGone(`/srv/git/${each.owner}/app.git`, ledger.walks.nextSeq());
        if (each.do === 'report') await ledger.reports.reportUnit(each.owner, each.leaf, 'unit', each.bytes);
        if (each.do === 'delta') await ledger.reports.addDelta(each.owner, each.leaf, each.bytes - 5_000);
        if (each.do === 'policy') ledger.settings = { ...settings, ...each.changed };
        if (each.do === 'publish') void refusals.published();
      }
      t.strictSame((await lines()).sort(), expected(ledger));
    }),
    { numRuns: 60 },
  );
});
