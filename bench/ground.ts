/**
 * Trees that look like a git server's, made below the system's temporary folder and taken away at the end,
 * however it comes.
 *
 * Their files have lengths but no blocks: all that is measured here asks for a file's length and never
 * reads what is in it.
 */

import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder of its own. */
export function makeGround(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'softquota-bench-')));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  return directory;
}

/** Numbers of entries and bytes that were made. */
export class Made {
  entries = 0;
  bytes = 0;

  directory(path: string): void {
    mkdirSync(path);
    this.entries += 1;
  }

  file(path: string, bytes: number): void {
    const descriptor = openSync(path, 'wx');
    ftruncateSync(descriptor, bytes);
    closeSync(descriptor);
    this.entries += 1;
    this.bytes += bytes;
  }
}

/** Whole numbers from 0 to below a bound, the same ones in every run. */
export function numbers(seed = 1): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Numbers = ReturnType<typeof numbers>;

const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0');

/** Returns a random name of that many hexadecimal digits. */
function name(random: Numbers, digits: number): string {
  let text = '';
  while (text.length < digits) text += hex(random(2 ** 24), 6);
  return text.slice(0, digits);
}

/** The least that is a repository. */
export function makeBareRepository(made: Made, path: string): void {
  made.directory(path);
  made.directory(`${path}/objects`);
  made.directory(`${path}/refs`);
  made.file(`${path}/HEAD`, 23);
}

/**
 * One as git leaves it after some pushes: two packs, and loose objects over the folders of their first byte.
 */
export function makeRepository(made: Made, path: string, looseObjects: number, random: Numbers): void {
  makeBareRepository(made, path);
  for (const each of ['hooks', 'info', 'objects/info', 'objects/pack', 'refs/heads', 'refs/tags'])
    made.directory(`${path}/${each}`);
  for (const [file, bytes] of [
    ['config', 66],
    ['description', 73],
    ['packed-refs', 400],
    ['info/exclude', 240],
    ['objects/info/packs', 108],
    ['refs/heads/main', 41],
  ] as const)
    made.file(`${path}/${file}`, bytes);
  for (let pack = 0; pack < 2; pack++) {
    const stem = `${path}/objects/pack/pack-${name(random, 40)}`;
    made.file(`${stem}.pack`, 10_000 + random(5_000_000));
    made.file(`${stem}.idx`, 1_100 + random(100_000));
  }
  const folders = new Set<string>();
  for (let object = 0; object < looseObjects; object++) {
    const folder = `${path}/objects/${hex(random(256), 2)}`;
    if (!folders.has(folder)) made.directory(folder);
    folders.add(folder);
    made.file(`${folder}/${name(random, 38)}`, 40 + random(8_000));
  }
}

/** An owner's LFS store: each object below two folders named after its first bytes. */
export function makeLfsStore(made: Made, path: string, objects: number, random: Numbers): void {
  made.directory(path);
  const folders = new Set<string>();
  for (let object = 0; object < objects; object++) {
    const oid = name(random, 64);
    for (const folder of [oid.slice(0, 2), `${oid.slice(0, 2)}/${oid.slice(2, 4)}`]) {
      if (!folders.has(folder)) made.directory(`${path}/${folder}`);
      folders.add(folder);
    }
    made.file(`${path}/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`, 1_000 + random(20_000_000));
  }
}

/** Owners with one repository each, the least that there can be: `owner-N/project.git`, N from `first` on. */
export function makeOwners(root: string, owners: number, first = 0): Made {
  const made = new Made();
  mkdirSync(root, { recursive: true });
  for (let owner = first; owner < owners; owner++) {
    made.directory(`${root}/owner-${owner}`);
    makeBareRepository(made, `${root}/owner-${owner}/project.git`);
  }
  return made;
}

/** Writes app.ini; `lines` come behind `[server]`'s own. `total`: what everybody may store. */
export function writeConfig(directory: string, lines: string, total = '1P', quota = ''): string {
  const file = join(directory, 'app.ini');
  // The only sweeps are the one at the start and those that are asked for.
  const text = `[server]
DATA_PATH = ${join(directory, 'data')}
HTTP_PORT = 0

[quota]
ENABLED = true
${quota}
[quota.default]
TOTAL = ${total}

[scan]
SCHEDULE = 0 0 1 1 *

${lines}`;
  writeFileSync(file, text);
  return file;
}
