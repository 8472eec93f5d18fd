/** `softquota check` and `softquota health`: ask the gate for a decision, and for its health. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { z } from 'zod';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { leaves } from '../quota/index.ts';
import { apiCommand } from './api-command.ts';
import { type DaemonClient, gateClient, messageIn, withQuery } from './client.ts';
import { sizeOption } from './limits.ts';
import { type ConfigOption, configFrom } from './settings.ts';

interface CheckOptions {
  readonly subject?: string;
  readonly size?: string;
}

/** The fields that are printed without --json. */
interface Answer {
  readonly allowed: boolean;
  readonly subject: string;
  readonly message: string;
  readonly would_refuse?: boolean;
  readonly reported?: { readonly message: string };
  readonly warned?: object;
  readonly warning: string | null;
  readonly partial: boolean;
}

const addCheck = apiCommand<readonly Answer[], CheckOptions>('check <owner-or-path>', {
  summary: 'ask whether an owner may add data',
  description:
    'Asks the gate, as a hook does, whether an owner may start an action that adds data of some kind. ' +
    'An argument that begins with /, ./ or ../, or has a slash and exists, is a path: of a repository, or of any ' +
    'other unit in a storage directory.',
  arguments: ["an owner's name, or a path"],
  options: [
    new Option(
      '--subject <subject>',
      `a kind of data, such as size:git:lfs; default: with a path the unit's kind, with an owner every kind that has no other kinds below it`,
    ),
    new Option('--size <size>', 'the size of the data to add, such as 500M; it counts with [quota] PRECISE'),
  ],
  after:
    '\nExit status: 0 allowed, 1 refused (with an owner and no subject: any kind of data is refused), or the path belongs to no owner.',
  find: async (options, asked: string) => {
    const client = gateClient(configFrom(options));
    return Promise.all(pathsFor(asked, options).map(path => ask(client, path)));
  },
  json: answers => (answers.length === 1 ? answers[0] : answers),
  text: answers => answers.map(each => line(each, answers.length > 1)),
  status: answers => (answers.every(({ allowed }) => allowed) ? exitCodes.done : exitCodes.refused),
});

function pathsFor(asked: string, { subject, size }: CheckOptions): readonly string[] {
  const added = size === undefined ? undefined : String(sizeOption(size, 0));
  if (isPath(asked)) return [withQuery('/v1/check', { size: added, path: resolve(asked), subject })];
  const wanted = subject === undefined ? leaves : [subject];
  return wanted.map(each => withQuery('/v1/check', { size: added, owner: asked, subject: each }));
}

/** Returns false for an owner, which has slashes if it is a subgroup of GitLab. */
function isPath(asked: string): boolean {
  return /^\.{0,2}\//.test(asked) || (asked.includes('/') && existsSync(asked));
}

async function ask(client: DaemonClient, path: string): Promise<Answer> {
  const { status, headers, json } = await client.ask<Answer>({ path });
  if (headers['x-softquota-decision'] !== undefined) return json;
  const message = messageIn(json) ?? `the gate answered with status ${status}`;
  throw new SoftquotaError(status === 503 ? 'not_ready' : status === 404 ? 'unknown_path' : 'usage', message);
}

function line(
  { allowed, subject, message, would_refuse: wouldRefuse, reported, warned, warning, partial }: Answer,
  one: boolean,
): string {
  const verdict = wouldRefuse === true ? 'allowed (would be refused)' : allowed ? 'allowed' : 'refused';
  const what = one ? `${subject}: ` : '';
  const doubt = partial ? ' Some data could not be measured.' : '';
  const would = reported === undefined ? '' : ` In report mode: ${reported.message}`;
  const also = warned === undefined || warning === null ? '' : ` ${warning}`;
  return `${what}${verdict}. ${message}${also}${would}${doubt}`;
}

interface HealthOptions extends ConfigOption {
  readonly ready?: boolean;
}

const health = z.object({ status: z.string(), reasons: z.array(z.string()) });

type Health = z.infer<typeof health>;

const addHealth = apiCommand<Health, HealthOptions>('health', {
  summary: 'check whether the daemon answers',
  description:
    'Asks the gate for its health, as a supervisor or a container does. A daemon that answers is alive, even ' +
    'if its figures are not reliable yet; --ready checks the figures, too.',
  options: [new Option('--ready', 'also check whether its answers are reliable')],
  after: '\nExit status: 0 healthy, 1 not healthy, or no answer.',
  find: healthOf,
  text: ({ status, reasons }) => [status, ...reasons],
  status: ({ status }) => (status === 'ok' ? exitCodes.done : exitCodes.refused),
});

async function healthOf(options: HealthOptions): Promise<Health> {
  const client = gateClient(configFrom(options));
  const none = (why: string) => ({ status: 'no answer', reasons: [why] });
  try {
    const { json } = await client.ask({ path: options.ready === true ? '/readyz' : '/healthz' });
    return health.safeParse(json).data ?? none('the answer is not from a gate');
  } catch (error) {
    // The caller asks for a yes or a no, so an error is an answer here, not a failure.
    if (error instanceof SoftquotaError) return none(error.message);
    throw error;
  }
}

export const gateCommands = { check: addCheck, health: addHealth };
