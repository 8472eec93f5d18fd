/** Claim: a hook takes little more than the shell and the one program that asks, and so does a push. */

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, asks as canAsk } from '../src/git/index.ts';
import { scan, startDaemon } from './daemon.ts';
import { type Figure, median, milliseconds, print, ratioOf, spread, tell } from './figures.ts';
import { makeGround, writeConfig } from './ground.ts';
import { timed } from './processes.ts';
import { makeCommits, makeTarget, pushTo, putHooks } from './target.ts';

const rounds = 30;
const warmUps = 2;
/** Runs of a hook in a row: the processor's time is told in hundredths of a second. */
const runs = 20;

const directory = makeGround();
const owner = join(directory, 'git/alice');
const work = join(directory, 'work');
mkdirSync(owner, { recursive: true });
const commits = await makeCommits(work, warmUps + rounds);
const config = writeConfig(directory, `[storage.repos]\nPATH = ${directory}/git/{owner}/{repo}.git\n`);
const daemon = await startDaemon(config);

const clients: Client[] = [];
for (const client of ['nc', 'curl'] as const) {
  if (await canAsk(client)) clients.push(client);
  else tell(`not measured: ${client}, which does not ask as the hooks need it`);
}

const question = 'GET /v1/check?path=%s HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n';
/** What a shell that does nothing else asks by. */
const asks: Readonly<Record<Client, string>> = {
  nc: `printf '${question}' "$PWD" | nc -U ${daemon.socket}`,
  curl: `curl -q -s --unix-socket ${daemon.socket} -G --data-urlencode "path=$PWD" http://localhost/v1/check`,
};

interface Sample {
  readonly ms: number[];
  readonly processorMs: number[];
}

const hooks = new Map<string, { readonly target: string } & Sample>();
const addHook = (name: string, target: string) => hooks.set(name, { target, ms: [], processorMs: [] });
addHook('empty', await withHooks('empty', 'exit 0'));
for (const client of clients) {
  addHook(`sh + ${client}`, await withHooks(`sh-${client}`, `${asks[client]} >/dev/null`));
  const target = await makeTarget(join(owner, `hook-${client}.git`));
  await putHooks(target, daemon.socket, client);
  addHook(client, target);
}
const pushed = {
  none: await makeTarget(join(owner, 'none.git')),
  empty: await withHooks('pushed-empty', 'exit 0'),
  both: await makeTarget(join(owner, 'both.git')),
};
await putHooks(pushed.both, daemon.socket);
type Pushed = keyof typeof pushed;
const pushNames = Object.keys(pushed) as Pushed[]; // the keys are known where they are written
const pushMs: Record<Pushed, number[]> = { none: [], empty: [], both: [] };

await scan(config, hooks.size + pushNames.length);
for (const [round, commit] of commits.entries()) {
  for (const [name, { target, ms, processorMs }] of inTurn([...hooks], round)) {
    const taken = await runHook(target, name);
    if (round < warmUps) continue;
    ms.push(taken.ms);
    processorMs.push(taken.processorMs);
  }
  for (const name of inTurn(pushNames, round)) {
    const ms = await pushTo(pushed[name], work, commit);
    if (round >= warmUps) pushMs[name].push(ms);
  }
}
await daemon.stop();

print({
  title: 'The hook',
  how: `pre-receive by itself, from its start to its end, ${rounds} times ${runs} runs in a row, and a push of a small commit, ${rounds} times; in turn, all in one run. Beside a hook that is an empty shell script. In brackets after a median: the smallest and largest. Processor time is user and system time of the hook and all that it starts.`,
  figures: [
    ...clients.flatMap(client => [
      ...figuresOf(`sh and ${client} alone`, `sh + ${client}`, null),
      ...figuresOf(`the hook by ${client}`, client, client === 'nc' ? 7 : null),
    ]),
    pushFigure(),
    {
      what: 'a push with empty hooks',
      ours: spread(pushMs.empty, milliseconds),
      instead: `no hook ${spread(pushMs.none, milliseconds)}`,
      ratio: ratioOf(pushMs.empty, pushMs.none),
      goal: null,
    },
  ],
});

/** Each round begins with another one. */
function inTurn<Each>(all: readonly Each[], round: number): readonly Each[] {
  const at = round % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
}

async function withHooks(name: string, body: string): Promise<string> {
  const target = await makeTarget(join(owner, `${name}.git`));
  for (const hook of ['pre-receive', 'post-receive']) {
    const file = join(target, 'hooks', hook);
    writeFileSync(file, `#!/bin/sh\n${body}\n`);
    chmodSync(file, 0o755);
  }
  return target;
}

/** Runs the target's pre-receive as git does; it must let the push through, and say nothing. */
async function runHook(target: string, name: string) {
  const script = `cd "$1" && n=0
while [ $n -lt ${runs} ]; do
	printf '%s\\n' "$2" | GIT_QUARANTINE_PATH=/nonexistent hooks/pre-receive || exit 1
	n=$((n + 1))
done
times`;
  const line = `${'1'.repeat(40)} ${'2'.repeat(40)} refs/heads/main`;
  const { ms, stdout, stderr } = await timed('sh', ['-c', script, 'sh', target, line]);
  if (stderr !== '') throw new Error(`the hook ${name} said: ${stderr}`);
  // The second line is of the children: user and system time as 0m0.00s.
  const [, children = ''] = stdout.trim().split('\n').slice(-2);
  const times = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  const seconds = times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  return { ms: ms / runs, processorMs: (seconds * 1000) / runs };
}

function sampleOf(name: string): Sample {
  const found = hooks.get(name);
  if (found === undefined) throw new Error(`nothing was measured of ${name}`);
  return found;
}

function figuresOf(what: string, name: string, most: number | null): readonly Figure[] {
  const [ours, empty] = [sampleOf(name), sampleOf('empty')];
  const ratio = ratioOf(ours.ms, empty.ms);
  const figure = (of: string, mine: readonly number[], theirs: readonly number[]): Figure => ({
    what: `${what}${of}`,
    ours: spread(mine, milliseconds),
    instead: `empty hook ${spread(theirs, milliseconds)}`,
    ratio: ratioOf(mine, theirs),
    goal: null,
  });
  return [
    {
      ...figure('', ours.ms, empty.ms),
      goal:
        most === null
          ? null
          : {
              words: `at most ${most} times`,
              met: ratio <= most,
              reason: `starting programs is what a hook takes its time for: sh and ${name} alone take ${milliseconds(median(sampleOf(`sh + ${name}`).ms))}.`,
            },
    },
    figure(', processor time', ours.processorMs, empty.processorMs),
  ];
}

function pushFigure(): Figure {
  const ratio = ratioOf(pushMs.both, pushMs.empty);
  return {
    what: `a push with both hooks, by ${clients[0]}`,
    ours: spread(pushMs.both, milliseconds),
    instead: `empty hooks ${spread(pushMs.empty, milliseconds)}`,
    ratio,
    goal: {
      words: 'at most 1.25 times',
      met: ratio <= 1.25,
      reason: 'the push waits for the hook before it, and shares the cores with what is told behind it.',
    },
  };
}
