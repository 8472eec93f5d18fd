/**
 * The hooks of this package: recognizes them, and writes and reads the settings in their heads. Besides its
 * push, a hook reads only these settings.
 */

import { readFileSync } from 'node:fs';
import type { BoundedFile } from '../../bounded/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { packageDirectory } from '../../package.ts';
import { shellQuoted } from '../../text.ts';

export const hookNames = ['pre-receive', 'post-receive'] as const;

export type HookName = (typeof hookNames)[number];

const hooksDirectory = new URL('hooks/', packageDirectory);

/** The name in `hooks/NAME.d` of a hook that was there before ours. */
export const previousFile = '50-previous';

/** The name of our hook in `hooks/NAME.d` if another hook runs that folder: it sorts before all others. */
export const folderFile = '00-softquota';

/** The folder from which Gogs runs other hooks. In `hooks` it puts its own. */
export const customFolder = 'custom_hooks';

/** Tells whether this is a hook of ours, of any version. */
export function isOurs(name: HookName, entry: BoundedFile): entry is BoundedFile & { kind: 'file' } {
  if (entry.kind !== 'file') return false;
  const found = entry.bytes.toString('latin1');
  return found.startsWith('#!') && found.startsWith(`\n# softquota hook: ${name}\n`, found.indexOf('\n'));
}

const onErrors = ['allow', 'deny', 'last'] as const;

/** The decision about a push while the daemon does not answer. */
type OnError = (typeof onErrors)[number];

/** The programs by which hooks can send requests, the fastest first. */
export const clients = ['nc', 'curl'] as const;

export type Client = (typeof clients)[number];

export interface HookSettings {
  /** Absolute path of the gate's socket. */
  readonly socket: string;
  readonly client: Client;
  readonly onError: OnError;
  /** Minutes for which the list that the daemon last published is valid. */
  readonly lastFor: number;
}

export const defaultSettings = { onError: 'last', lastFor: 24 * 60 } as const;

function parseOnError(text: string): OnError {
  const policy = onErrors.find(each => each === text);
  if (policy !== undefined) return policy;
  throw new SoftquotaError('usage', `onError = ${text} is not known; expected allow, deny or last`);
}

/** Returns the minutes of an age such as `24h` or `7d`; throws `usage` for anything else. */
function parseLastFor(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,2})([hd])$/.exec(text) ?? [];
  if (number !== undefined) return Number(number) * (unit === 'd' ? 24 * 60 : 60);
  const message = `lastFor = ${text} is not known; expected 1 to 999 hours or days, such as 24h or 7d`;
  throw new SoftquotaError('usage', message);
}

export function parsePolicies(
  named: Readonly<Partial<Record<'onError' | 'lastFor', string | undefined>>>,
): Partial<Pick<HookSettings, 'onError' | 'lastFor'>> {
  const { onError, lastFor } = named;
  return {
    ...(onError !== undefined && { onError: parseOnError(onError) }),
    ...(lastFor !== undefined && { lastFor: parseLastFor(lastFor) }),
  };
}

/** The programs of this package besides the two hooks. */
export const programNames = ['upload', 'quota', 'receive-pack/git', 'receive-pack/git-lfs-transfer'] as const;

type ProgramName = (typeof programNames)[number];

/** Matches from the heading of the settings to the first line of code. */
const settingsBlock = /^(# Settings.*\n)[\s\S]*?\n(?=set -u\n)/m;

const calls: Readonly<Record<Client, string>> = {
  nc: 'call() { request "$@" | timeout -s KILL "$left" nc -U "$socket"; }',
  // curl writes the head of the request itself.
  curl: `call() {
	request "$@" | {
		read -r method path _ && while read -r line && [ "\${#line}" -gt 1 ]; do :; done
		env -i PATH="$PATH" curl -q -s -i -0 -m "$left" -X "$method" -H Accept:text/plain --noproxy localhost \\
			--unix-socket "$socket" --data-binary @- "http://localhost$path"
	}
}`,
};

const unnamable = /[\p{Cc}]/u;

/** Writes the settings of a script of ours: the socket, and the function that sends a request to it. */
export function headLines({ socket, client, onError, lastFor }: HookSettings): string {
  if (!socket.startsWith('/') || unnamable.test(socket))
    throw new SoftquotaError('conflict', `the hooks cannot ask at the socket ${JSON.stringify(socket)}`);
  return `socket=${shellQuoted(socket)} on_error=${onError} last_for=${lastFor}\n${calls[client]}\n`;
}

/** Returns a hook or program of this package with its settings filled in. */
export function filled(name: HookName | ProgramName, settings: HookSettings): Buffer {
  const template = readFileSync(new URL(name, hooksDirectory), 'latin1');
  const head = Buffer.from(headLines(settings)).toString('latin1');
  return Buffer.from(
    template.replace(settingsBlock, (_, title) => `${title}${head}\n`),
    'latin1',
  );
}

/** Reads the settings in the head of such a file; null if it has none, as in release 0.1. */
export function settingsIn(content: Buffer): HookSettings | null {
  const text = content.toString();
  const [, quoted, policy, minutes] =
    /^socket=('[^\n]*'|[\w./@%+:=,-]+) on_error=(\w+) last_for=(\d{1,9})$/m.exec(text) ?? [];
  const onError = onErrors.find(each => each === policy);
  if (quoted === undefined || onError === undefined) return null;
  const socket = quoted.replace(/^'|'$/g, '').replaceAll("'\\''", "'");
  // The package's own file has no settings yet.
  if (!socket.startsWith('/')) return null;
  const client = text.includes(calls.nc) ? 'nc' : 'curl';
  return { socket, client, onError, lastFor: Number(minutes) };
}
