/**
 * A Dockerfile's steps, run one by one without a container engine.
 *
 * Stands for the hosts of the guide: a stage is a copy-on-write copy of this host, which the base image
 * is taken to be like (Debian with Node 24, npm and apt); this checkout cannot be seen there. COPY copies
 * what .dockerignore lets through, RUN runs as root by /bin/sh in the environment so far. Stages with a name
 * reach the network, for npm; the last one does not, so that apt-get finds nothing newer than what is
 * installed and the packages that it is told to install have to be here. What has no effect on the tree is
 * kept as it is written. An ordinary run takes the installed packages and the built files from this checkout;
 * the long run makes them anew.
 */

import { cp, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Test } from 'tap';
import { isLong } from '../run-length.ts';
import type { Run, RunOptions } from './run.ts';
import { SandboxHost } from './sandbox-host.ts';

interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** Variables that this host's network needs, as a builder would be told. */
export const networkSettings = Object.fromEntries(
  Object.entries(process.env).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined && /^(npm_config_\w+|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy)$/i.test(pair[0]),
  ),
);

/** The files of this checkout that stand for the result of a step; empty: the step is left out. */
const madeBefore: ReadonlyMap<string, readonly string[]> = new Map([
  ['npm ci --ignore-scripts', []],
  ['npm run build', ['dist']],
]);

export class Stage {
  readonly sandbox: SandboxHost;
  readonly env: Record<string, string> = {};
  workdir = '/';
  user = 'root';
  entrypoint: readonly string[] = [];
  command: readonly string[] = [];
  healthcheck: readonly string[] = [];
  stopSignal = 'SIGTERM';
  readonly volumes: string[] = [];

  constructor(sandbox: SandboxHost) {
    this.sandbox = sandbox;
  }

  /** Runs a shell's lines as root, as RUN does. */
  run(script: string, options: RunOptions = {}): Promise<Run> {
    const env = { ...networkSettings, ...this.env, ...options.env };
    return this.sandbox.run('/bin/sh', ['-c', script], { cwd: this.workdir, ...options, env });
  }
}

/** Runs all steps; gives the last stage. Rejects with the step that failed. */
export async function build(t: Test, context: string): Promise<Stage> {
  const named = new Map<string, Stage>();
  const ignore = await readFile(join(context, '.dockerignore'), 'utf8');
  let stage: Stage | null = null;
  for (const { name, text } of instructionsOf(await readFile(join(context, 'Dockerfile'), 'utf8'))) {
    if (name === 'FROM') {
      // There is only this host's own platform.
      const [image = '', as, alias] = text.replace('--platform=$BUILDPLATFORM ', '').split(' ');
      if (!image.startsWith('node:24-'))
        throw new Error(`FROM ${text}: only images of Node 24 are played here`);
      const isNamed = as === 'AS' && alias !== undefined;
      stage = await stageOf(t, context, isNamed ? 'shared' : 'own');
      if (isNamed) named.set(alias, stage);
      continue;
    }
    if (stage === null) throw new Error(`${name} before FROM`);
    try {
      await step(stage, name, text, { context, allowed: allowedBy(ignore), named });
    } catch (cause) {
      throw new Error(`${name} ${text}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }
  if (stage === null) throw new Error('a Dockerfile has a FROM');
  return stage;
}

async function stageOf(t: Test, context: string, network: 'own' | 'shared'): Promise<Stage> {
  const sandbox = await SandboxHost.open(t, { network });
  await sandbox.must('mkdir', ['-p', context]);
  await sandbox.must('mount', ['-t', 'tmpfs', '-o', 'ro', 'hidden', context]);
  return new Stage(sandbox);
}

interface Surroundings {
  readonly context: string;
  /** Tells whether .dockerignore lets a path of the context through. */
  readonly allowed: (path: string) => boolean;
  readonly named: ReadonlyMap<string, Stage>;
}

async function step(stage: Stage, name: string, text: string, around: Surroundings): Promise<void> {
  switch (name) {
    case 'WORKDIR':
      stage.workdir = resolve(stage.workdir, text);
      await stage.sandbox.must('mkdir', ['-p', stage.workdir]);
      return;
    case 'ENV':
      for (const pair of text.split(' ')) {
        const [, key = '', value = ''] = /^(\w+)=(.*)$/.exec(pair) ?? [];
        stage.env[key] = value;
      }
      return;
    case 'RUN': {
      if (stage.user !== 'root') throw new Error('only steps of root are played here');
      const made = isLong ? undefined : madeBefore.get(text);
      if (made !== undefined) {
        for (const path of made) await place(stage, join(around.context, path), path);
        return;
      }
      const { code, stdout, stderr } = await stage.run(text);
      if (code !== 0) throw new Error(`exit ${code}\n${stdout}${stderr}`);
      return;
    }
    case 'COPY':
      return copy(stage, text, around);
    case 'USER':
      stage.user = text;
      return;
    case 'VOLUME':
      stage.volumes.push(text);
      return;
    case 'STOPSIGNAL':
      stage.stopSignal = text;
      return;
    case 'HEALTHCHECK':
      stage.healthcheck = JSON.parse(text.slice(text.indexOf('CMD ') + 'CMD '.length));
      return;
    case 'ENTRYPOINT':
      stage.entrypoint = JSON.parse(text);
      return;
    case 'CMD':
      stage.command = JSON.parse(text);
      return;
    default:
      throw new Error('no step that is played here');
  }
}

/**
 * Copies sources. With several sources, or into a folder, the target ends with a slash; else it takes the
 * source's place.
 */
async function copy(stage: Stage, text: string, { context, allowed, named }: Surroundings): Promise<void> {
  const [, from, paths = ''] = /^(?:--from=(\w+) )?(.+)$/.exec(text) ?? [];
  const words = paths.split(' ');
  const target = words.pop() ?? '';
  for (const source of words) {
    const placed = target.endsWith('/') ? join(target, basename(source)) : target;
    if (from === undefined) {
      if (!allowed(source)) throw new Error(`${source} is left out by .dockerignore`);
      await place(stage, join(context, source), placed);
    } else {
      const other = named.get(from);
      if (other === undefined) throw new Error(`no stage ${from}`);
      const parcel = join(other.sandbox.folder, 'copy');
      await other.sandbox.must('cp', ['-a', source, parcel]);
      await place(stage, parcel, placed);
      await rm(parcel, { recursive: true });
    }
  }
}

/** Puts a file or a directory of this host at a path in the stage, owned by root. */
async function place(stage: Stage, from: string, target: string): Promise<void> {
  const transit = join(stage.sandbox.folder, 'placed');
  await cp(from, transit, { recursive: true });
  const path = resolve(stage.workdir, target);
  await stage.sandbox.must('mkdir', ['-p', dirname(path)]);
  await stage.sandbox.must('cp', ['-a', transit, path]);
  await rm(transit, { recursive: true });
}

/** The one form that is played: all is left out but what begins with `!`, and what lies below that. */
function allowedBy(ignore: string): (path: string) => boolean {
  const lines = ignore.split('\n').filter(line => line !== '' && !line.startsWith('#'));
  const [first, ...others] = lines;
  if (first !== '*' || others.some(line => !line.startsWith('!'))) {
    throw new Error('.dockerignore is played here as "*" and then lines with "!"');
  }
  const kept = new Set(others.map(line => line.slice(1)));
  return path => kept.has(path) || kept.has(path.split('/')[0] ?? '');
}

function instructionsOf(text: string): readonly Instruction[] {
  const lines = text.split('\n').filter(line => !line.startsWith('#'));
  return lines
    .join('\n')
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [, name = '', rest = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
      return { name, text: rest };
    });
}
