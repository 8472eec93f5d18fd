/**
 * The texts that pushers read on real servers, word for word: sshd with git-shell, nginx and Apache with git
 * http-backend, gitolite.
 *
 * The servers are what docs/install.md makes of an empty host; only the limit is a smaller one.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { ask, until } from './ask.ts';
import { Clone, objectsIn, type Push } from './clone.ts';
import { readGuide, repository, Site, stepsOf, type Way, ways, words } from './guide.ts';
import { packed } from './packages.ts';
import type { SandboxHost } from './sandbox-host.ts';

t.setTimeout(600_000);

const guide = await readGuide();
const packageFile = await packed(t);

/** Texts that pushers see by the guide: near the limit, over it, without a daemon. */
const [warning = '', refusal = '', absence = ''] = guide
  .filter(({ kind, heading }) => kind === 'text' && heading === 'What the pusher sees')
  .map(({ text }) => words(text));

/** A server under a limit of 1 MB, with the guide's way behind it, and a working copy of alice's. */
async function protectedServer(t: Test, way: Way) {
  const site = await Site.open(t, packageFile);
  const { sandbox } = site;
  await site.protect(guide, way);
  const ini = '/etc/softquota/app.ini';
  const change = `sed -i 's/^TOTAL = .*/TOTAL = 1M/' ${ini} && printf '[hooks]\\nCONTACT = https://git.example/quota\\n' >>${ini}`;
  await sandbox.must('sh', ['-c', `${change} && systemctl reload softquota`]);
  const gate = sandbox.outside('/run/softquota/gate.sock');
  const bare = repository[way];
  await until(async () => {
    const { text } = await ask(gate, `/v1/check?path=${bare}`);
    return JSON.parse(text).limit === 1_000_000 ? true : null;
  });
  const cloned = stepsOf(guide, way).find(({ kind }) => kind === 'sh alice')?.text ?? '';
  const url = cloned.split('\n').flatMap(line => /^git clone (\S+app(\.git)?)$/.exec(line)?.[1] ?? []);
  const clone = await Clone.of({ folder: site.home, run: sandbox.run }, url[0] ?? '');
  const owner = await sandbox.must('stat', ['-c', '%U', bare]);
  return {
    sandbox,
    clone,
    bare,
    /** Resolves once alice's usage is like this. */
    used: (isIt: (bytes: number) => boolean) =>
      until(async () => {
        const { text } = await ask(sandbox.outside('/run/softquota/trusted.sock'), '/v1/usage?owner=alice');
        return isIt(JSON.parse(text).used.size.repos.private) ? true : null;
      }),
    changed: () => ask(gate, '/v1/changed', { body: { path: bare } }),
    onServer: (...args: readonly string[]) =>
      sandbox.must('runuser', ['-u', owner.trim(), '--', 'git', '-C', bare, ...args], { cwd: '/' }),
  };
}

/** The lines about the largest paths, once the worker has looked through the repository. */
const largest = /Removing these frees the most space in this repository: .*?(?=This repository: )/;

/** The next step where no worker can judge, since each repository is another user's. */
const withoutWorker =
  "You can still delete branches and tags, in a push of their own; this frees space at the server's next garbage collection. Ask the administrator when that is. ";

/** The sentence about forgiven bytes, until the worker has seen that they were collected. */
const forgiven = / # B more do not count, since no branch or tag reaches them\./;

function passes(t: Test, push: Push, said: string, name: string): void {
  t.equal(push.code, 0, name, { stderr: push.stderr });
  t.equal(words(push.stderr).replace(forgiven, ''), said, name);
}

const names = Object.keys(ways) as Way[]; // what Object.keys gives of a constant are its keys

/** The logs of the web servers, which ask for a user's name. */
const webLogs: { readonly [W in Way]?: string } = {
  http: '/var/log/nginx/access.log',
  apache: '/var/log/apache2/other_vhosts_access.log',
};

// The ordinary run types another way in install-guide.test.ts.
for (const way of isLong ? names : (['http', 'apache'] as const)) {
  t.test(`${way}: allowed, warned, refused, cleaned up, and without a daemon`, async t => {
    const { sandbox, clone, bare, used, changed, onServer } = await protectedServer(t, way);
    const webLog = webLogs[way];
    // git sends what is larger in chunks, without a length.
    await clone.git('config', 'http.postBuffer', '65536');
    await clone.commit(850_000);
    passes(t, await clone.push(), '', 'below the limit nothing is said');
    await used(bytes => bytes > 850_000);

    await clone.commit(1000);
    passes(t, await clone.push(), warning, 'near the limit there is a warning');
    await clone.git('checkout', '-q', '-b', 'big');
    await clone.commit(500_000);
    passes(t, await clone.push(['big']), warning, 'what begins below the limit may end over it');
    await used(bytes => bytes > 1_000_000);

    await clone.git('checkout', '-q', 'main');
    await clone.commit(80_000);
    const objects = () => objectsIn(sandbox.outside(bare));
    const before = [await objects(), await onServer('for-each-ref')];
    const trace = join(clone.folder, '.git/trace');
    const refused = await clone.push(['main'], { env: { GIT_TRACE_CURL: trace } });
    t.equal(refused.code, 1);
    const said = words(refused.stderr).replace(largest, '');
    const wanted = way === 'users' ? refusal.replace(/You can still .*?(?=To ask)/, withoutWorker) : refusal;
    t.equal(said, wanted, 'over the limit it is refused', { stderr: refused.stderr });
    t.strictSame([await objects(), await onServer('for-each-ref')], before, 'and nothing of it stays');

    passes(t, await clone.push(['--delete', 'big']), '', 'deleting passes over the limit');
    await onServer('gc', '-q', '--prune=now');
    t.equal((await changed()).status, 202);
    await used(bytes => bytes < 1_000_000);
    passes(t, await clone.push(), warning, 'what was refused passes after the cleanup');
    if (webLog !== undefined) {
      t.match(await readFile(trace, 'utf8'), /Transfer-Encoding: chunked/);
      await takesCompressed(t, sandbox, clone);
    }

    await sandbox.must('systemctl', ['stop', 'softquota.socket', 'softquota.service']);
    await clone.commit(1000);
    passes(t, await clone.push(), absence, 'without a daemon pushes pass, and say so');
    await clone.git('push', '-q', 'origin', 'main:spare');
    passes(t, await clone.push(['--delete', 'spare']), '', 'and deletions need none');
    if (webLog !== undefined) {
      await isNormalAnswer(t, sandbox.outside(webLog));
      await servesAll(t, sandbox);
    }
    if (webLog !== undefined || way === 'gitolite')
      await namesActor(t, sandbox.outside('/run/systemctl/softquota.service.log'));
  });
}

const login = ['-u', 'alice:correct horse battery staple'];
const site = 'http://git.example/alice/app.git';
const pushType = 'Content-Type: application/x-git-receive-pack-request';

/** A request that its client has compressed, with a length and in chunks: each deletes a branch. */
async function takesCompressed(t: Test, sandbox: SandboxHost, clone: Clone): Promise<void> {
  const file = join(clone.folder, '.git/request');
  const ways = { length: [], chunks: ['-H', 'Transfer-Encoding: chunked'] };
  for (const [name, headers] of Object.entries(ways)) {
    await clone.git('push', '-q', 'origin', `main:${name}`);
    const tip = (await clone.git('rev-parse', 'main')).trim();
    const command = `${tip} ${'0'.repeat(40)} refs/heads/${name}\0report-status`;
    await writeFile(file, gzipSync(`${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`));
    const all = [...headers, '-H', pushType, '-H', 'Content-Encoding: gzip', '--data-binary', `@${file}`];
    const said = await sandbox.must('curl', ['-q', '-sS', ...login, ...all, `${site}/git-receive-pack`]);
    t.match(said, `ok refs/heads/${name}`, name);
  }
}

/** Every name and address of the host, and everybody while somebody's push is slow. */
async function servesAll(t: Test, sandbox: SandboxHost): Promise<void> {
  const refs = '/alice/app.git/info/refs?service=git-upload-pack';
  const answer = async (url: string, ...args: readonly string[]) => {
    const all = ['-q', '-g', '-s', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '10', ...args];
    return (await sandbox.run('curl', [...all, url + refs])).stdout;
  };
  for (const host of ['git.example', '127.0.0.1', '[::1]', 'localhost'])
    t.equal(await answer(`http://${host}`, ...login), '200', host);
  t.equal(await answer('http://127.0.0.1', ...login, '-H', 'Host: code.example'), '200', 'another name');
  const slow = `curl -q -s -u "${login[1]}" -H "${pushType}" -H Expect: --limit-rate 1k -T /dev/zero -X POST ${site}/git-receive-pack`;
  const pid = (await sandbox.must('sh', ['-c', `${slow} >/dev/null 2>&1 & echo $!`])).trim();
  for (let asked = 0; asked < 5; asked++)
    t.equal(await answer('http://git.example', ...login), '200', 'while a push is slow');
  await sandbox.must('kill', [pid]);
}

/** git shows words of the server only where the answer is a normal one. */
async function isNormalAnswer(t: Test, log: string): Promise<void> {
  const answers = (await readFile(log, 'utf8')).matchAll(/"POST \S+\/git-receive-pack HTTP\/1\.1" (\d+) /g);
  t.strictSame(new Set([...answers].map(([, status]) => status)), new Set(['200']));
}

/** The log names the pusher, though it has one line for refusals that come within a minute. */
async function namesActor(t: Test, log: string): Promise<void> {
  const lines = (await readFile(log, 'utf8')).split('\n').filter(line => line.includes('"msg":"refused"'));
  t.strictSame(new Set(lines.map(line => JSON.parse(line).actor)), new Set(['alice']));
}
