/** `softquota auth`: OAuth2 sources, and synchronization without a sign-in, by hand or by a nightly job. */

import { Option } from 'commander';
import { z } from 'zod';
import { exitCodes, SoftquotaError } from '../errors.ts';
import { issueLines, printable } from '../text.ts';
import type { Source, Synchronization } from '../wire/index.ts';
import { apiCommand, resource } from './api-command.ts';
import type { DaemonClient } from './client.ts';
import { jsonIn, readWhole } from './files.ts';
import { jsonText, textsIn } from './output.ts';
import { type CommonOptions, clientFrom } from './settings.ts';
import { print, tellNote } from './streams.ts';

interface SyncOptions extends CommonOptions {
  readonly user?: string;
  readonly try?: boolean;
}

const sources = '/admin/auths';

const claims = z.record(z.string(), z.unknown(), {
  error: 'expected an object, such as the payload of an ID token',
});
const claimed = z.object({ user: z.string(), claims });

type Claimed = z.infer<typeof claimed>;

export const addAuth = resource('auth', {
  summary: 'OAuth2 sources',
  description: 'Lists OAuth2 sources, and synchronizes quota groups from claims as a sign-in does.',
  commands: [
    apiCommand<readonly Source[]>('list', {
      summary: 'list the sources',
      route: `GET ${sources}`,
      none: 'No sources. docs/oauth.md describes how to create one.',
      columns: [
        ['ID', source => String(source.id)],
        ['NAME', source => source.name],
        ['PROVIDER', source => source.openid_connect_auto_discovery_url],
        ['ACTIVE', source => (source.is_active ? 'yes' : 'no')],
        ['CLAIM', source => source.quota_group_claim_name],
        ['REMOVAL', source => (source.quota_group_map_removal ? 'on' : 'off')],
        ['UNKNOWN QUOTA GROUPS', source => source.unknown_quota_groups.join(', ')],
      ],
    }),
    apiCommand<never, SyncOptions>('sync <source> <file>', {
      summary: "synchronize users' quota groups from claims",
      description:
        'Applies claims as a sign-in with the source does: each user is one change with one event. With --user, the ' +
        'file has the claims of that user as one JSON object. Without --user, it has many users: a JSON list of ' +
        '{"user": NAME, "claims": {...}}, or one such object on each line. If a user fails, the error is shown on ' +
        'standard error, the other users are done, and the exit status is 1.',
      arguments: ['the name of the source', 'the claims; - is standard input'],
      options: [
        new Option('--user <user>', 'the user of the claims'),
        new Option('--try', 'only show the changes'),
      ],
      run: async (options, [name, file = '']) => {
        const client = clientFrom(options);
        const wanted = claimedIn(readWhole(file), options.user ?? null);
        const found = (await client.get<readonly Source[]>({ path: sources })).find(one => one.name === name);
        if (found === undefined) throw new SoftquotaError('not_found', `no such source: ${name}`);
        const results = await synchronized(client, `${sources}/${found.id}`, wanted, options);
        if (options.json === true) print(jsonText(results));
        return results.length < wanted.length ? exitCodes.refused : exitCodes.done;
      },
    }),
  ],
});

type Result = Synchronization & { readonly user: string };

/** Synchronizes users one after the other. A fault of one user is printed, and the user left out. */
async function synchronized(
  client: DaemonClient,
  path: string,
  wanted: readonly Claimed[],
  options: SyncOptions,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const body of wanted) {
    try {
      const asked = `${path}/${options.try === true ? 'try' : 'claims'}`;
      const call = { method: 'POST', path: asked, body } as const;
      const done = { user: body.user, ...(await client.get<Synchronization>(call)) };
      results.push(done);
      if (options.json !== true) print(`${printable(sentence(done))}\n`);
    } catch (error) {
      const isOfUser = error instanceof SoftquotaError && ofOne.has(error.code);
      if (!isOfUser) throw error;
      tellNote(printable(`${body.user}: ${error.message}`));
    }
  }
  return results;
}

/** The codes of faults that concern one user only. */
const ofOne: ReadonlySet<string> = new Set(['not_found', 'conflict', 'invalid']);

/** Parses the claims of one user, or of many. Throws `usage`, with the place of each fault. */
function claimedIn(text: string, user: string | null): readonly Claimed[] {
  if (user !== null) return [{ user, claims: taken(claims, text, 'the claims') }];
  if (text.trimStart().startsWith('[')) return taken(z.array(claimed), text, 'the list');
  return text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : taken(claimed, line, `line ${index + 1}`)));
}

function taken<T>(schema: z.ZodType<T>, text: string, where: string): T {
  const result = schema.safeParse(jsonIn(text, where, 'usage'));
  if (result.success) return result.data;
  throw new SoftquotaError('usage', `${where}: ${issueLines(result.error).join('; ')}`);
}

function sentence({ user, outcome, groups, added, removed, skipped, ignored }: Result): string {
  const what = {
    synchronized: added.length + removed.length === 0 ? 'nothing changes' : '',
    kept: 'the claim is absent: nothing changes',
    overage: 'the provider has too many groups to name them: nothing changes',
    off: 'the source names no claim: nothing changes',
  }[outcome];
  return textsIn([
    `${user}: ${[...added.map(group => `+${group}`), ...removed.map(group => `-${group}`), what].join(' ').trim()}`,
    `in ${groups.join(', ') || 'no group'}`,
    skipped.length > 0 && `no such quota group: ${skipped.join(', ')}`,
    ignored,
  ]).join('; ');
}
