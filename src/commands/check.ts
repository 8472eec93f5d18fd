/** `softquota check`: what the gate would answer now. */

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { leaves } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { type DaemonClient, gateClient, messageIn, withQuery } from './client.ts';
import { sizeOption } from './limits.ts';
import { printJson } from './output.ts';
import { type CommonOptions, configFrom, type Exit, withCommonOptions, wrapped } from './settings.ts';
import { print } from './streams.ts';

interface CheckOptions extends CommonOptions {
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
  readonly partial: boolean;
}

export function addCheck(program: Command, exit: Exit): void {
  withCommonOptions(program.command('check'))
    .summary('ask whether an owner may add data')
    .description(
      'Asks the gate, as a hook does, whether an owner may start an action that adds data of some kind. ' +
        'An argument with a slash is a path: of a repository, or of any other unit in a storage directory.',
    )
    .argument('<owner-or-path>', "an owner's name, or a path")
    .option(
      '--subject <subject>',
      `a kind of data, such as size:git:lfs; default: with a path the unit's kind, with an owner every kind that has no other kinds below it`,
    )
    .option('--size <size>', 'the size of the data to add, such as 500M; it counts with [quota] PRECISE')
    .addHelpText(
      'after',
      wrapped(
        '\nExit status: 0 allowed, 1 refused (with an owner and no subject: any kind of data is refused), or the path belongs to no owner.',
      ),
    )
    .action(async (subject: string, options: CheckOptions) => {
      const client = gateClient(configFrom(options));
      const answers = await Promise.all(pathsFor(subject, options).map(path => ask(client, path)));
      if (options.json === true) printJson(answers.length === 1 ? answers[0] : answers);
      else for (const each of answers) print(line(each, answers.length > 1));
      exit(answers.every(each => each.allowed) ? exitCodes.done : exitCodes.refused);
    });
}

function pathsFor(asked: string, { subject, size }: CheckOptions): readonly string[] {
  const added = size === undefined ? undefined : String(sizeOption(size, 0));
  if (asked.includes('/')) return [withQuery('/v1/check', { size: added, path: resolve(asked), subject })];
  const wanted = subject === undefined ? leaves : [subject];
  return wanted.map(each => withQuery('/v1/check', { size: added, owner: asked, subject: each }));
}

async function ask(client: DaemonClient, path: string): Promise<Answer> {
  const { status, headers, json } = await client.ask<Answer>({ path });
  if (headers['x-softquota-decision'] !== undefined) return json;
  const message = messageIn(json) ?? `the gate answered with status ${status}`;
  throw new SoftquotaError(status === 503 ? 'not_ready' : status === 404 ? 'unknown_path' : 'usage', message);
}

function line(
  { allowed, subject, message, would_refuse: wouldRefuse, reported, partial }: Answer,
  one: boolean,
): string {
  const verdict = wouldRefuse === true ? 'allowed (would be refused)' : allowed ? 'allowed' : 'refused';
  const what = one ? `${subject}: ` : '';
  const doubt = partial ? ' Some data could not be measured.' : '';
  const would = reported === undefined ? '' : ` In report mode: ${reported.message}`;
  return `${printable(`${what}${verdict}. ${message}${would}${doubt}`)}\n`;
}
