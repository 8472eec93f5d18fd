/**
 * The programs of docs/programs.md and of examples/programs as they stand there, before a daemon that answers,
 * is away, is slow, restarts; and the types of the client as the package has it.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { readGuide } from './guide.ts';
import { must, plainEnvironment, type Run, run } from './run.ts';
import { Server } from './server.ts';
import { freePort } from './transports.ts';

t.setTimeout(600_000);

const words = 'Quota exceeded: alice uses 1.2 MB of 1 MB (120 %).';
const packages = 'size:assets:packages:all';
const issues = 'size:assets:attachments:issues';

const examples = new URL('../../examples/programs/', import.meta.url);

/** The text of a program: a block of the page, or a file that it leads to. */
async function textOf(name: string): Promise<string> {
  const found = (await readGuide('programs.md')).find(({ kind }) => kind.split(' ')[1] === name);
  return found?.text ?? (await readFile(new URL(name, examples), 'utf8'));
}

/** A program as a file, with the sockets and places that are here. */
async function program(server: Server, name: string): Promise<string> {
  const folder = join(server.folder, 'program');
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  const installed = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const links = { softquota: '.', express: 'node_modules/express', fastify: 'node_modules/fastify' };
  if (name.endsWith('.js')) {
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    for (const [link, path] of Object.entries(links)) {
      await symlink(installed(path), join(folder, 'node_modules', link));
    }
  }
  const file = join(folder, name);
  const socket = (kind: 'gate' | 'trusted') => [`/run/softquota/${kind}.sock`, server.socket(kind)] as const;
  const places = [socket('gate'), socket('trusted'), ['/srv/', `${server.folder}/`]] as const;
  const text = places.reduce((all, [there, here]) => all.replaceAll(there, here), await textOf(name));
  // The client has the usual places by itself.
  const options = (more: string) => `createClient({ socket: '${server.socket('gate')}', ${more}`;
  const trusted = `createClient({ socket: '${server.socket('trusted')}', trusted`;
  await writeFile(
    file,
    text.replace('createClient({ trusted', trusted).replace('createClient({ on', options('on')),
  );
  return file;
}

/** Makes alice use so many bytes of attachments. */
const uses = (server: Server, bytes: number) => server.reports('alice', bytes, { subject: issues });

/** Prepares a program, and gives the command that starts it. */
type Prepare = (file: string) => Promise<readonly [string, ...(readonly string[])]>;

const scripts: Readonly<Record<string, Prepare>> = {
  'check.js': async file => [process.execPath, file],
  'check.sh': async file => ['sh', file],
  'check.py': async file => ['python3', file],
  'check.php': async file => ['php', file],
};

/** To compile these takes a minute of two cores; only the long run does so. */
const compiled: Readonly<Record<string, Prepare>> = {
  'check.go': async file => {
    await must('go', ['build', '-o', `${file}.bin`, file], {
      env: { GOCACHE: `${file}.cache`, CGO_ENABLED: '0', GOTOOLCHAIN: 'local', HOME: join(file, '..') },
    });
    return [`${file}.bin`];
  },
  'check.rs': async file => {
    await must('rustc', ['-o', `${file}.bin`, file], { env: { HOME: process.env.HOME ?? '/root' } });
    return [`${file}.bin`];
  },
};

const languages = { ...scripts, ...(isLong ? compiled : {}) };

const asked = await Server.open(t);

for (const [name, prepare] of Object.entries(languages)) {
  t.test(`${name} asks, and goes on without a daemon`, async t => {
    const server = asked;
    const [command, ...args] = await prepare(await program(server, name));
    const check = (owner: string, size = '1'): Promise<Run> => run(command, [...args, owner, packages, size]);
    const refused = { code: 1, stdout: '', stderr: new RegExp(words.replaceAll(/[.()]/g, '\\$&')) };
    const undecided = {
      code: 0,
      stdout: '',
      stderr: /The quota could not be checked|did not answer|does not answer/,
    };

    await uses(server, 1_200_000);
    t.match(await check('alice'), refused);
    t.match(await check('jürgen & co'), { code: 0, stdout: '', stderr: '' });
    await uses(server, 900_000);
    t.match(await check('alice'), { code: 0, stderr: /^Quota warning: alice uses / });
    await uses(server, 1_200_000);

    server.daemon.child.kill('SIGSTOP');
    t.match(await check('alice'), undecided, 'a daemon that is slow');
    server.daemon.child.kill('SIGCONT');
    t.match(await check('alice'), refused);

    await server.stop('SIGKILL');
    t.match(await check('alice'), undecided, 'a daemon that is away');
    await server.start();
    t.match(await check('alice'), refused, 'and is back');
  });
}

for (const name of ['express.js', 'fastify.js']) {
  t.test(`${name} refuses an upload before it stores anything`, async t => {
    const server = await Server.open(t);
    const file = await program(server, name);
    const port = await freePort();
    const web = spawn(process.execPath, [file], {
      cwd: join(file, '..'),
      env: { ...plainEnvironment, PORT: String(port) },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let log = '';
    web.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    t.teardown(async () => {
      web.kill();
      await once(web, 'exit');
    });
    const upload = async (owner: string) => {
      const body = Buffer.alloc(300_000);
      const url = `http://127.0.0.1:${port}/upload/${owner}`;
      const answer = await fetch(url, {
        method: 'PUT',
        body,
        headers: { 'Content-Type': 'application/zip' },
      });
      return { status: answer.status, text: await answer.text() };
    };
    const stored = () => readdir(join(server.folder, 'attachments/alice')).catch(() => []);
    await until(
      () => upload('bob').catch(() => null),
      () => `it does not come up\n${log}`,
    );

    t.match(await upload('alice'), { status: 201 });
    await server.usageIs('alice', bytes => bytes === 300_000);
    await uses(server, 900_000);
    t.match(await upload('alice'), {
      status: 413,
      text: /"message":"Quota exceeded: alice uses 1\.2 MB of 1 MB/,
    });
    t.equal((await stored()).length, 1);
    t.match(await upload('..%2Fgit'), { status: 404 });

    server.daemon.child.kill('SIGSTOP');
    t.match(await upload('alice'), { status: 201 }, 'a daemon that is slow');
    t.match(log, 'did not answer within 2000 ms');
    server.daemon.child.kill('SIGCONT');
    await server.stop('SIGKILL');
    t.match(await upload('alice'), { status: 201 }, 'a daemon that is away');
    await server.start();
    t.match(await upload('alice'), { status: 413 }, 'and is back');
    t.equal((await stored()).length, 3);
  });
}

t.test('store.js of the manual stores what has room', async t => {
  const server = await Server.open(t, { ini: { quota: { PRECISE: 'true' } } });
  const file = await program(server, 'store.js');
  await mkdir(join(server.folder, 'packages'));
  await writeFile(join(server.folder, 'upload'), Buffer.alloc(700_000));
  const store = async (name: string) =>
    run(process.execPath, [file, 'alice', name, '700000'], {
      input: await readFile(join(server.folder, 'upload')),
    });
  t.match(await store('one.tgz'), { code: 0, stdout: '', stderr: '' });
  t.equal(await server.usage('alice'), 700_000);
  t.match(await store('two.tgz'), { code: 1, stderr: /alice uses 700 kB of 1 MB/ });
  t.equal((await readFile(join(server.folder, 'packages/alice/one.tgz'))).length, 700_000);
  t.equal(await server.usage('alice'), 700_000);
});

t.test('the lines of docs/hooks.md ask before an upload, and report it', async t => {
  const server = await Server.open(t);
  const [block] = (await readGuide('hooks.md')).filter(({ kind }) => kind === 'sh upload');
  t.match(await server.softquota(['hooks', 'install', '--programs', server.folder]), { code: 0 });
  await mkdir(join(server.folder, 'packages/alice'), { recursive: true });
  await writeFile(join(server.folder, 'app.tgz'), 'x');
  const script = (block?.text ?? '')
    .replace('/usr/local/lib/softquota', server.folder)
    .replace('/srv/', `${server.folder}/`);
  const upload = () => run('sh', ['-eu', '-c', script], { cwd: server.folder });
  t.match(await upload(), { code: 0, stdout: '', stderr: '' });
  t.equal(await server.usage('alice'), 5_000_000);
  t.match(await upload(), { code: 1, stderr: /^Quota exceeded: alice uses 5 MB of 1 MB/ });
  t.equal(await server.usage('alice'), 5_000_000);
});

const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** A program that uses the types of the client. */
const strictProgram = `
import { createClient, QuotaExceededError, type QuotaAnswer } from 'softquota/client';

const quota = createClient({ socket: '/run/gate.sock', onError: 'deny', timeoutMs: 500 });
export const answer: Promise<QuotaAnswer> = quota.check({ owner: 'alice', subject: 'size:git:lfs', size: 5 });
export const stored: Promise<number> = quota.withQuota('alice', 'size:git:lfs', 5, upload => {
  upload.stored(4);
  return 4;
});
export const graceEnds: Promise<number | undefined> = answer.then(({ grace }) => grace?.until?.getTime());
export const reporting: Promise<string | null> = answer.then(({ wouldRefuse, reported }) =>
  wouldRefuse ? (reported?.rule ?? null) : null,
);
export const isRefusal = (error: unknown): error is QuotaExceededError => error instanceof QuotaExceededError;
// @ts-expect-error: a subject is required with an owner
void quota.check({ owner: 'alice' });
// @ts-expect-error: there is no such subject
void quota.check({ owner: 'alice', subject: 'size:git' });
// @ts-expect-error: bytes are reported for a leaf
void quota.changed({ owner: 'alice', subject: 'size:all', delta: 1 });
// @ts-expect-error: there is no such policy
createClient({ onError: 'last' });
`;

t.test('a strict program compiles against its types, without those of Node', async t => {
  const folder = t.testdir({ 'package.json': '{"type": "module"}', 'program.ts': strictProgram });
  await mkdir(join(folder, 'node_modules'));
  await symlink(checkout, join(folder, 'node_modules/softquota'));
  const options = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023'],
    types: [],
    strict: true,
    noEmit: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  const tsc = join(checkout, 'node_modules/.bin/tsc');
  t.match(await run(tsc, ['-p', folder]), { code: 0, stdout: '', stderr: '' });
});
