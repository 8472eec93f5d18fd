/**
 * Writes docs/reference/flows.md: the files of `src/` of which a named function runs while a check is
 * answered, a push is let through and measured, and a rule is changed.
 *
 * A daemon of its own is followed by V8's inspector, on all its threads. Each flow has run once before, so that no
 * file counts because it is loaded. Then it runs three times, and a file counts that runs each time, and of which
 * something runs that does not run at rest.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { Inspector, type Ran } from './inspector.ts';

const program = new URL('../bin/softquota.js', import.meta.url).pathname;
/** Longer than a push takes until its measurement is written, and than the daemon's timers rest. */
const settledMs = 3000;
/** Longer than the measurements go on that follow a check. */
const restMs = 40_000;

const world = mkdtempSync(join(tmpdir(), 'softquota-flows-'));
const repository = join(world, 'git/alice/one.git');
const work = join(world, 'work');
const config = join(world, 'app.ini');
const sockets = join(world, 'data');

function run(...[command, ...args]: readonly [string, ...string[]]): void {
  execFileSync(command, args, { cwd: work, stdio: 'ignore' });
}

function makeWorld(): void {
  for (const folder of [repository, work, sockets]) mkdirSync(folder, { recursive: true });
  writeFileSync(
    config,
    `[server]\nDATA_PATH = ${sockets}\nHTTP_PORT = 0\n[quota]\nENABLED = true\n[quota.default]\nTOTAL = 10M\n` +
      `[storage.repos]\nPATH = ${world}/git/{owner}/{repo}.git\n`,
  );
  run('git', 'init', '-q', '--bare', repository);
  run('git', 'init', '-q');
}

function push(): void {
  run('git', '-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '--allow-empty', '-qm', 'one');
  run('git', 'push', '-q', repository, 'HEAD:refs/heads/main');
}

function check(): void {
  run('curl', '-sf', '--unix-socket', `${sockets}/gate.sock`, `http://softquota/v1/check?path=${repository}`);
}

function changeRule(method: string, path: string, body: object): void {
  const address = `http://softquota/api/v1/admin/quota/rules${path}`;
  const sent = ['-H', 'content-type: application/json', '-d', JSON.stringify(body)];
  run('curl', '-sf', '--unix-socket', `${sockets}/admin.sock`, '-X', method, ...sent, address);
}

function section(title: string, ran: Ran): string {
  const rows = [...ran].map(([thread, files]) => {
    const names = [...files.keys()].toSorted().map(name => `\`${name}\``);
    return `| ${thread} | ${names.length} | ${names.join(', ')} |\n`;
  });
  const all = new Set([...ran.values()].flatMap(files => [...files.keys()]));
  return `## ${title}: ${all.size} files\n\n| thread | | files |\n|---|---|---|\n${rows.join('')}`;
}

/** The files of a flow that runs in all of these traces, without those of which nothing ran but what runs at rest. */
function filesOf(rest: Ran, [first = new Map(), ...others]: readonly Ran[]): Ran {
  const left = [...first].map(([thread, files]) => {
    const atRest = rest.get(thread);
    const kept = [...files].filter(
      ([name, functions]) =>
        others.every(ran => ran.get(thread)?.has(name)) &&
        ![...functions].every(each => atRest?.get(name)?.has(each)),
    );
    return [thread, new Map(kept)] as const;
  });
  return new Map(left.filter(([, files]) => files.size > 0));
}

async function follow(address: string): Promise<readonly string[]> {
  const inspector = await Inspector.open(address);
  run(process.execPath, program, 'hooks', 'install', join(world, 'git'), '--config', config);
  push();
  check();
  changeRule('POST', '', { name: 'total', limit: 5_000_000, subjects: ['size:all'] });
  await setTimeout(restMs);
  const traced = async (flow: () => void, ms: number): Promise<Ran> => {
    await inspector.take();
    flow();
    await setTimeout(ms);
    return inspector.take();
  };
  const rest = await traced(() => {}, settledMs);
  const repeated = async (flow: () => void, ms: number): Promise<Ran> =>
    filesOf(rest, [await traced(flow, ms), await traced(flow, ms), await traced(flow, ms)]);
  let limit = 5_000_000;
  const editRule = (): void => {
    limit += 1;
    changeRule('PATCH', '/total', { limit });
  };
  const pushed = await repeated(push, settledMs);
  const changed = await repeated(editRule, 0);
  // The last one, since measurements follow a check for half a minute.
  const checked = await repeated(check, 0);
  inspector.close();
  return [
    section('A check', checked),
    section('A push, and its measurement', pushed),
    section('A change of a rule, until it is answered', changed),
  ];
}

makeWorld();
const daemon = spawn(process.execPath, ['--inspect=127.0.0.1:0', program, 'serve', '--config', config], {
  stdio: ['ignore', 'ignore', 'pipe'],
});
try {
  let address = '';
  for await (const line of createInterface(daemon.stderr)) {
    address ||= /ws:\S+/.exec(line)?.[0] ?? '';
    if (line.includes('directories above the units are watched')) break;
  }
  daemon.stderr.resume();
  const flows = await follow(address);
  const day = new Date().toISOString().slice(0, 10);
  const head =
    `# Files of the flows\n\nThe files of \`src/\` of which a named function runs, small helpers and those who follow a change ` +
    `among them.\nTraced on ${day}, and written by \`npm run flows\`.\n\n`;
  writeFileSync(new URL('../docs/reference/flows.md', import.meta.url), head + flows.join('\n'));
} finally {
  daemon.kill();
  await once(daemon, 'exit');
  rmSync(world, { recursive: true });
}
