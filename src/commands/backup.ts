/** `softquota backup` and `softquota restore`: keeping what no walk would find again. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Backup } from '../backup/index.ts';
import { printable } from '../text/index.ts';
import { adminClient } from './client.ts';
import type { Exit } from './exit.ts';
import { readWhole, writeWhole } from './files.ts';
import { formatTime, printJson } from './output.ts';
import { type ConfigOption, configFrom, withConfigOption, withJsonOption } from './settings.ts';
import { print, printKept, tell } from './streams.ts';

interface RestoreOptions extends ConfigOption {
  readonly replace?: boolean;
  readonly json?: boolean;
}

export function addBackup(program: Command, _exit: Exit): void {
  withConfigOption(program.command('backup'))
    .summary('save what no walk would find again')
    .description(
      'Saves all that the daemon keeps but what it measures by itself: owners, policy, events, and what programs reported.\n' +
        'The daemon goes on meanwhile. The file appears whole or not at all, readable by you only; one that\n' +
        'has the name already is replaced. What has to be saved beside it is told on standard error.',
    )
    .argument('<file>', 'where to; - is standard output')
    .action(async (file: string, options: ConfigOption) => {
      const { parseBackup } = await import('../backup/index.ts');
      const config = configFrom(options);
      const json = await adminClient(() => config).get({ path: '/admin/backup' });
      const text = `${JSON.stringify(json)}\n`;
      const backup = parseBackup(text, 'what the daemon answered');
      if (file === '-') await printKept(text);
      else writeWhole(resolve(file), text, 0o600);
      const kept = ['host.id', 'secret.key'].map(name => join(config.server.dataPath, name));
      const beside = [config.file, ...kept].filter(isThere);
      tell(`Saved ${contents(backup)}.\nSave beside it: ${beside.map(printable).join(', ')}\n`);
    });
}

export function addRestore(program: Command, _exit: Exit): void {
  withJsonOption(withConfigOption(program.command('restore')))
    .summary('put a backup into the store')
    .description(
      'Puts what `softquota backup` saved into the store of DATA_PATH. The daemon must not be running; when it is\n' +
        'started again it measures everything anew. Run as root, it works as the user that DATA_PATH belongs to.',
    )
    .argument('<file>', 'the backup; - is standard input')
    .option('--replace', 'also where the store holds something: the backup takes its place')
    .action(async (file: string, options: RestoreOptions) => {
      const { parseBackup } = await import('../backup/index.ts');
      const { dataPath } = configFrom(options).server;
      const backup = parseBackup(readWhole(file), file === '-' ? 'standard input' : file);
      const { restoreInto } = await import('../daemon/index.ts');
      const restored = await restoreInto(dataPath, backup, { replace: options.replace === true });
      if (options.json === true) return printJson(restored);
      const { removed_owners: owners, removed_policy: policy, removed_units: units } = restored;
      const removed =
        owners + policy + units === 0
          ? ''
          : `Taken out, since the backup has them not: ${owners} owners, ${policy} records of policy, ${units} reported units.\n`;
      print(`Restored ${contents(backup)}.\n${removed}Start the daemon: it measures everything anew.\n`);
    });
}

function isThere(file: string | null): file is string {
  return file !== null && existsSync(file);
}

function contents({ owners, policy, reported_units: units, events, taken_at: takenAt }: Backup): string {
  const at = formatTime(new Date(takenAt).toISOString());
  const parts = `${owners.length} owners, ${policy.length} records of policy, ${units.length} reported units`;
  return `${parts} and ${events.length} events as of ${at}`;
}
