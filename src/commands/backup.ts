/** `softquota backup` and `softquota restore`: owners, policy, events and reported units. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Option } from 'commander';
import type { LoadedConfig } from '../config/index.ts';
import { exitCodes } from '../errors.ts';
import type { Backup, Restored } from '../ledger/index.ts';
import { counted, printable } from '../text.ts';
import { apiCommand } from './api-command.ts';
import { isByUrl, localAdminClient } from './client.ts';
import { readWhole, writeWhole } from './files.ts';
import { formatTime } from './output.ts';
import { clientFrom, configFrom, loadedFrom } from './settings.ts';
import { printKept, tell } from './streams.ts';

const addBackup = apiCommand<never>('backup <file>', {
  summary: 'back up owners, policy and events',
  description:
    'Saves everything that cannot be measured again: owners, policy, events, and the units that programs reported. ' +
    'The daemon keeps running. The file appears complete or not at all, and only you can read it; an existing ' +
    'file is replaced. The other files that you have to save are listed on standard error.',
  arguments: ['the file to write; - is standard output'],
  hasNoJson: true,
  run: async (options, [file = '']) => {
    const { parseBackup } = await import('../ledger/index.ts');
    const loaded = isByUrl() ? null : loadedFrom(options);
    const client = loaded === null ? clientFrom(options) : localAdminClient(loaded.config);
    const json = await client.get({ path: '/admin/backup' });
    const text = `${JSON.stringify(json)}\n`;
    const backup = parseBackup(text, 'the answer of the daemon');
    if (file === '-') printKept(text);
    else writeWhole(resolve(file), text, 0o600);
    const beside = loaded === null ? [] : filesBeside(loaded);
    const also = beside.length === 0 ? '' : `Save these files, too: ${beside.map(printable).join(', ')}\n`;
    tell(`Saved ${contents(backup)}.\n${also}`);
    return exitCodes.done;
  },
});

/** The files of this host that a backup lacks: its configuration, its name and its keys. */
function filesBeside({ config, given }: LoadedConfig): readonly string[] {
  const named = given.map(({ origin }) => (origin.in === 'variable' ? origin.file : null));
  const kept = ['host.id', 'secret.key'].map(name => join(config.server.dataPath, name));
  const files = new Set([config.file, ...named, ...kept]);
  return [...files].filter(path => path !== null).filter(path => existsSync(path));
}

const addRestore = apiCommand<{ backup: Backup; restored: Restored }, { replace?: boolean }>(
  'restore <file>',
  {
    summary: 'restore a backup into the store',
    description:
      'Writes a backup of `softquota backup` to the store in DATA_PATH. The daemon must not be running; when it ' +
      'starts again, it measures everything again. If root runs this command, it works as the owner of DATA_PATH.',
    arguments: ['the backup; - is standard input'],
    options: [new Option('--replace', 'also if the store is not empty: the backup replaces its contents')],
    find: async ({ replace = false, ...options }, file: string) => {
      const { parseBackup } = await import('../ledger/index.ts');
      const { dataPath } = configFrom(options).server;
      const backup = parseBackup(readWhole(file), file === '-' ? 'standard input' : file);
      const { restoreInto } = await import('../daemon/index.ts');
      return { backup, restored: await restoreInto(dataPath, backup, { replace }) };
    },
    json: ({ restored }) => restored,
    text: ({ backup, restored }) => {
      const { removed_owners: owners, removed_policy: policy, removed_units: units } = restored;
      return [
        `Restored ${contents(backup)}.`,
        owners + policy + units > 0 &&
          `Removed, because the backup does not have them: ${partsOf(owners, policy, units)}.`,
        'Start the daemon: it measures everything again.',
      ];
    },
  },
);

function contents({ owners, policy, reported_units: units, events, taken_at: takenAt }: Backup): string {
  const at = formatTime(new Date(takenAt).toISOString());
  const parts = partsOf(owners.length, policy.length, units.length);
  return `${parts} and ${counted(events.length, 'event', 'events')} as of ${at}`;
}

function partsOf(owners: number, policy: number, units: number): string {
  return [
    counted(owners, 'owner', 'owners'),
    `${counted(policy, 'record', 'records')} of policy`,
    counted(units, 'reported unit', 'reported units'),
  ].join(', ');
}

export const backupCommands = { backup: addBackup, restore: addRestore };
