/**
 * docs/api.md, typed as it stands on a server that docs/install.md has made: curl rules, and the next push
 * obeys.
 */

import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { ask, until } from './ask.ts';
import { Clone, objectsIn } from './clone.ts';
import { type Block, readGuide, repository, Site, words } from './guide.ts';
import { packed } from './packages.ts';
import type { Run } from './run.ts';

t.setTimeout(600_000);

const site = await Site.open(t, await packed(t));
const { sandbox } = site;
await site.protect(await readGuide(), 'ssh');
/** The administrator's shell stays where the guide began. */
const there = { cwd: sandbox.checkout };

const manual = await readGuide('api.md');
/** Those that are typed; the rest is to be seen, or for another program. */
const typed = manual.filter(({ kind }) => kind.startsWith('sh'));
const done = new Set<Block>();

/** The commands below a heading, one after the other. */
function* below(heading: string): Generator<Block, Block> {
  for (const block of typed.filter(each => each.heading === heading)) {
    done.add(block);
    yield block;
  }
  throw new Error(`there are no more commands below ${heading}`);
}

/** The JSON of an answer, behind its headers where they are shown. */
function jsonIn({ stdout }: Run): unknown {
  return JSON.parse(stdout.slice(stdout.search(/^[[{]/m)));
}

t.test('the first token is made by root, and nobody else can read it', async t => {
  await site.must(below('The first token').next().value);
  t.match(await sandbox.must('cat', ['admin.header'], there), /^Authorization: token [0-9a-f]{40}$/);
  t.equal(await sandbox.must('stat', ['--format', '%a', 'admin.header'], there), '600');
});

t.test('a user is put into a group and out of it, and the very next push obeys', async t => {
  const url = 'git@git.example:/srv/git/alice/app.git';
  const clone = await Clone.of({ folder: site.home, run: sandbox.run }, url);
  await clone.commit(11_000_000);
  t.match(await clone.push(), { code: 0 }, 'before, the server allows 10 GB');
  const trusted = sandbox.outside('/run/softquota/trusted.sock');
  await until(async () => {
    const { text } = await ask(trusted, '/v1/usage?owner=alice');
    return JSON.parse(text).used.size.repos.private > 11_000_000 ? true : null;
  });

  const steps = below('A limit for somebody');
  const type = () => site.must(steps.next().value);
  t.strictSame(jsonIn(await type()), {
    name: 'free',
    rules: [
      { name: 'code', limit: 10_000_000, subjects: ['size:git:all'], per: 'owner' },
      { name: 'files', limit: 50_000_000, subjects: ['size:assets:all'], per: 'owner' },
    ],
  });
  await clone.commit(1000);
  t.match(await clone.push(), { code: 0, said: '' }, 'a group with nobody in it limits nobody');

  t.equal((await type()).stdout, '', 'alice is in it');
  await clone.commit(1000);
  const before = await objectsIn(sandbox.outside(repository.ssh));
  const own = join(site.home, 'app');
  await sandbox.must('git', ['-C', own, 'fetch', '-q', clone.folder, 'main']);
  await sandbox.must('git', ['-C', own, 'reset', '-q', '--hard', 'FETCH_HEAD']);
  const refused = await site.type(steps.next().value);
  t.equal(refused.code, 1);
  const shown = manual.find(({ kind, heading }) => kind === 'text' && heading === 'A limit for somebody');
  const told = words(shown?.text ?? '');
  t.match(told, /by rule "code" of group "free"/);
  t.ok(words(refused.stderr).startsWith(told), 'she reads what the manual shows', {
    stderr: refused.stderr,
  });
  t.strictSame(await objectsIn(sandbox.outside(repository.ssh)), before, 'and nothing of it stays');

  t.match(jsonIn(await type()), { decision: { allowed: false, group: 'free', rule: 'code' } });

  t.equal((await type()).stdout, '', 'alice is out of it');
  t.match(await clone.push(), { code: 0, said: '' }, 'her next push passes');
});

t.test('every other command of the manual does what is said of it', async t => {
  const token = await site.must(below('What there is').next().value);
  const made = z.object({ sha1: z.string() }).parse(jsonIn(token));
  const monitor = ['-H', `Authorization: Bearer ${made.sha1}`, '-s', '-o', '/dev/null', '-w', '%{http_code}'];
  const rules = 'http://127.0.0.1:3080/api/v1/admin/quota/rules';
  t.equal(await sandbox.must('curl', [...monitor, rules]), '200', 'the new token reads');
  t.equal(await sandbox.must('curl', [...monitor, '-d', '{}', rules]), '403', 'and nothing else');
  t.match(jsonIn(await site.must(below('Who asks').next().value)), [{ name: 'free' }]);
  const pages = below('Answers');
  const lists = pages.next().value;
  // A refusal is on record about a second later.
  const listed = await until(async () => {
    const { stdout } = await site.must(lists);
    return stdout.includes('"kind":"refusal"') ? stdout : null;
  });
  t.match(listed, /^X-Total-Count: 2\r$/m, 'alice and root');
  t.match(listed, /"name":"alice"/);
  t.same(jsonIn(await site.must(pages.next().value)), [], 'nobody is over or near a limit');
  await site.must(below('CSV').next().value);
  const csv = await sandbox.must('cat', ['owners.csv'], there);
  t.match(csv, /^owner,type,state[^\n]+$/, 'the names of the columns alone');
});

t.test('the faults of the manual are in the words of the daemon', async t => {
  const shown = manual.find(({ kind }) => kind === 'json');
  const body = '{"name": "x", "limit": -2, "subjects": ["size:everything"]}';
  const asked = ['-s', '-H', '@admin.header', '-H', 'Content-Type: application/json', '-d', body];
  const rules = 'http://127.0.0.1:3080/api/v1/admin/quota/rules';
  const answer = await sandbox.must('curl', [...asked, rules], there);
  t.strictSame(JSON.parse(answer), JSON.parse(shown?.text ?? ''));
});

t.test('no command of the manual is left untyped', async t => {
  t.strictSame(
    typed.filter(block => !done.has(block)),
    [],
  );
});
